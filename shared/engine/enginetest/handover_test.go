package enginetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// During a rolling update two versions work on the same documents. before.json is what
// processes of the version before ADR 28 (commit 9c00981) left when they died, written
// there by this file, with -handover-to. The other way round this file is put into that
// version's folder, with what this version leaves, and -handover-from.
var (
	handoverFrom = flag.String("handover-from", "testdata/before.json", "`file` of what processes of another version left when they died")
	handoverTo   = flag.String("handover-to", "", "`file` for what processes of this version leave when they die; empty for none")
)

// handover is what a process leaves that dies: a document, and what the services hold.
type handover struct {
	Story    string          `json:"story"`
	Document json.RawMessage `json:"document"`
	Made     []made          `json:"made,omitempty"`
}

// made is what a service holds.
type made struct {
	Path     string          `json:"path"`
	Revision int             `json:"revision"`
	Body     json.RawMessage `json:"body"`
}

// told are the stories: what is asked for besides the start, and which service refuses.
var told = map[string]struct {
	wish    workflow.OperationKind
	refuses string
	final   []workflow.State
}{
	"goes well":       {final: []workflow.State{workflow.Completed}},
	"payment refuses": {refuses: "payment", final: []workflow.State{workflow.Compensated}},
	"flight refuses":  {refuses: "flight", final: []workflow.State{workflow.Rejected, workflow.Compensated}},
	"cancelled":       {wish: workflow.OperationCancel, final: []workflow.State{workflow.Cancelled}},
	"changed":         {wish: workflow.OperationReschedule, final: []workflow.State{workflow.Completed}},
}

// tell returns a world in which a story begins, or goes on.
func tell(t *testing.T, story string, seed uint64) *enginetest.World {
	w := enginetest.New(t, workflowtest.Trip(), seed, nil)
	refuses := told[story].refuses
	w.Backends.OnCall = func(req engine.Attempt) *workflow.Outcome {
		if refuses != "" && req.Step == refuses && !req.Undo {
			return new(enginetest.Refused(422, "no"))
		}
		return nil
	}
	return w
}

func ask(w *enginetest.World, story string) {
	w.Post(workflow.OperationStart, "t", "op-1", workflowtest.TripBody())
	if wish := told[story].wish; wish != "" {
		w.Post(wish, "t", "op-2", json.RawMessage(`{"nights":5}`))
	}
}

// TestHandover takes over from processes of another version, at whatever effect they
// died, and holds how each story ends.
func TestHandover(t *testing.T) {
	if *handoverTo != "" {
		writeHandovers(t, *handoverTo)
	}
	data, err := os.ReadFile(*handoverFrom)
	if err != nil {
		t.Fatal(err)
	}
	var all []handover
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, h := range all {
		seen[h.Story] = true
		t.Run(fmt.Sprintf("%s %d", h.Story, i), func(t *testing.T) {
			var p workflow.Progress
			if err := json.Unmarshal(h.Document, &p); err != nil {
				t.Fatal(err)
			}
			w := tell(t, h.Story, 2) // other runners
			if _, err := w.Store.Create(context.Background(), &p); err != nil {
				t.Fatal(err)
			}
			for _, m := range h.Made {
				w.Backends.Do(context.Background(), engine.Attempt{TransactionID: "t", Revision: m.Revision, Call: workflow.Call{Method: "PUT", Path: m.Path, Body: m.Body}})
			}
			ask(w, h.Story) // the messages come again, while the dead one's lease lives
			w.Settle()
			check(t, w, told[h.Story].final...)
		})
	}
	if len(seen) != len(told) {
		t.Errorf("there are the stories %v", seen)
	}
}

// writeHandovers lets a process die before and after each effect of each story.
func writeHandovers(t *testing.T, path string) {
	var all []handover
	for story := range told {
		whole := tell(t, story, 1)
		ask(whole, story)
		whole.Settle()
		for _, effect := range whole.Gate.Effects() {
			for _, fate := range []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose} {
				if h, ok := diesAt(t, story, effect, fate); ok && !slices.ContainsFunc(all, h.same) {
					all = append(all, h)
				}
			}
		}
	}
	slices.SortStableFunc(all, func(a, b handover) int { return strings.Compare(a.Story, b.Story) })
	data, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(path, bytes.ReplaceAll(append(data, '\n'), []byte(`{"story"`), []byte("\n"+`{"story"`)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (h handover) same(other handover) bool {
	return h.Story == other.Story && bytes.Equal(h.Document, other.Document) &&
		slices.EqualFunc(h.Made, other.Made, func(a, b made) bool { return a.Path == b.Path && a.Revision == b.Revision })
}

func diesAt(t *testing.T, story, effect string, fate workflowtest.Fate) (handover, bool) {
	w := tell(t, story, 1)
	var dead atomic.Bool
	w.Gate.Decide = func(name string, n int) workflowtest.Fate {
		if dead.Load() {
			return workflowtest.Refuse
		}
		if fmt.Sprintf("%s #%d", name, n) == effect {
			dead.Store(true)
			return fate
		}
		return workflowtest.Pass
	}
	w.Crashed = dead.Load
	ask(w, story)
	for !dead.Load() && w.Step() {
	}
	p := w.Store.Get("t")
	if p == nil || !dead.Load() {
		return handover{}, false
	}
	h := handover{Story: story}
	var err error
	if h.Document, err = json.Marshal(p); err != nil {
		t.Fatal(err)
	}
	for _, path := range w.Backends.Live() {
		h.Made = append(h.Made, made{path, w.Backends.Revision(path), w.Backends.Body(path)})
	}
	return h, true
}
