package enginetest_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// wanted are the situations that the histories must have been in.
var wanted = []string{
	"a process dies with 1 result unsaved", "a process dies with 2 results unsaved", "a process dies with 3 results unsaved",
	"hotel refuses with 0 results unsaved", "flight refuses with 1 result unsaved", "payment refuses with 2 results unsaved",
	"a service refuses what it took before", "another works with 1 result unsaved", "another works with 2 results unsaved",
	"another works past the lease of unsaved results", "hotel gives no answer", "flight gives no answer", "payment gives no answer",
	"a call of revision 1 arrives before revision 2", "a call of revision 1 arrives after revision 2",
	"a wish is there before its start", "a start is repeated", "a transaction is Rejected with all marked",
	"a wish comes in with 1 result unsaved", "a wish comes in with 2 results unsaved", "several wishes come in beside unsaved results",
	"the answer to the save of unsaved results is lost", "the answer to a save is lost after a conflict",
	"a service answers differently when it is asked again",
	"patience ends with 1 result saved", "patience ends with 2 results saved",
}

func (h *history) note(format string, args ...any) { h.seen[fmt.Sprintf(format, args...)]++ }

func results(n int) string {
	if n == 1 {
		return "1 result"
	}
	return strconv.Itoa(n) + " results"
}

// unsaved returns how many steps have an effect that the document doesn't know of.
func (h *history) unsaved(id string) int {
	p := h.w.Store.Get(id)
	n := 0
	for _, s := range h.w.Engine.Definition.Steps {
		there := slices.Contains(h.w.Backends.Live(), s.Name+"s/"+id)
		if p != nil && p.Step(s.Name).State == workflow.StepStarted && there {
			n++
		}
	}
	return n
}

func (h *history) noteDeath() {
	for _, id := range transactions {
		if n := h.unsaved(id); n > 0 {
			h.note("a process dies with %s unsaved", results(n))
		}
	}
}

// noteLost notes a save of results that is made, and whose answer is lost.
func (h *history) noteLost(effect string) {
	id, saves := strings.CutPrefix(effect, "replace ")
	if !saves || h.fate != workflowtest.Lose || h.nested {
		return
	}
	if h.unsaved(id) > 0 {
		h.note("the answer to the save of unsaved results is lost")
	}
	if h.overtaken == id {
		h.note("the answer to a save is lost after a conflict")
	}
}

// noteWishes notes what another process has written beside results that are not
// saved.
func (h *history) noteWishes(id string, unsaved, operations int) {
	wishes := len(h.w.Store.Get(id).Operations) - operations
	if unsaved == 0 || wishes == 0 {
		return
	}
	h.overtaken = id
	h.note("a wish comes in with %s unsaved", results(unsaved))
	if wishes > 1 {
		h.note("several wishes come in beside unsaved results")
	}
}

func (h *history) noteOther(id string) {
	if n := h.unsaved(id); n > 0 && len(h.w.Queue.Receivable())+len(h.wishes) > 0 && !h.nested {
		h.note("another works with %s unsaved", results(n))
		if h.slow > h.w.Engine.Budgets.Lease+engine.LeaseMargin {
			h.note("another works past the lease of unsaved results")
		}
	}
}
