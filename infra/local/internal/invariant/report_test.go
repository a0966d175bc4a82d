package invariant

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestReportOfAValidSnapshot(t *testing.T) {
	got := text(t, check(valid(t)))
	for _, want := range []string{
		"47 transactions at 2026-03-", " 36 Completed 2 Rejected 3 Compensated 4 Cancelled 1 Stuck 1 GivenUp\n",
		"  invariant    checked  broken", "\n  accepted     46       0       every 202",
		"queue compensations: 0 active, 3 scheduled, 0 dead letters", "1 stuck, since", "1 that no client knows of", "every invariant holds\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
}

// Ensure the story of what is broken has everything that is known of it.
func TestReportTellsTheStory(t *testing.T) {
	s := valid(t)
	transaction(&s, "retried").State = workflow.Running
	r := check(s)
	got := text(t, r)
	for _, want := range []string{
		"\nretried\n", "accepted: open: it is \"Running\"", "answered 202 at 2026-03-0", "for operation op-",
		"step drone: Undone, revision 1, 1 attempts, effect yes, 2 undo attempts", "step delivery: Undone, revision 1, 1 attempts, effect yes, 1 undo attempts",
		": start Applied at ", ": cancel Applied at ", " Stick → Stuck undo of drone refused", " RetryUndo → Compensating operator@fabrikam.example the service is mended",
		"package p-retried: 1 ", "created, revision 1 by retried; 2 ", "tombstone of retried", "drone retried: 1 ",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(got, "every invariant holds") || !strings.Contains(got, "BROKEN: ") {
		t.Errorf("it is broken:\n%s", got)
	}
	hold(&s, "flying-0", func(h *drone.Hold) { h.TransactionID = "retried" })
	if got := text(t, check(s)); !strings.Contains(got, `drones: {"id":"zone-`) {
		t.Errorf("no drone in the story:\n%s", got)
	}
}

// Ensure a report of a disaster stays readable, and shows some of everything.
func TestReportOfADisaster(t *testing.T) {
	s := valid(t)
	s.Packages, s.Quarantine = nil, nil
	r := check(s)
	if len(r.Stories) != maxStories {
		t.Errorf("%d stories", len(r.Stories))
	}
	if got := text(t, r); !strings.Contains(got, "poison lost") || !strings.Contains(got, "missing: there is no package") {
		t.Errorf("not some of each:\n%s", got)
	}
	if len(r.Invariants) != len(check(scene{}).Invariants) || r.Broken() < 28 {
		t.Errorf("%d broken", r.Broken())
	}
}

func TestReportAsJSON(t *testing.T) {
	s := valid(t)
	s.Queues[0].DeadLetters = 1
	data, err := json.Marshal(check(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"at":"2026-03-`, `"transactions":47`, `"states":{"Cancelled":4,`, `"invariants":[{"name":"accepted","promise":"`, `"checked":46,"violations":[]}`,
		`"violations":[{"id":"deliveries","what":"dead letters","detail":"1 messages`, `"stuck":["stuck"]`, `"unanswered":["unanswered"]`,
		`"queues":[{"name":"deliveries","active":0,"scheduled":0,"deadLetters":1}`, `"stories":[{"id":"deliveries","lines":["`,
	} {
		if !strings.Contains(string(data), want) {
			t.Errorf("no %s in %s", want, data)
		}
	}
	data, err = json.Marshal(check(scene{}))
	if err != nil || strings.Contains(string(data), "null") {
		t.Errorf("of nothing: %v, %s", err, data)
	}
}

// Ensure nobody takes an invariant that had nothing to look at for one that was
// shown.
func TestReportOfNothing(t *testing.T) {
	r := check(scene{})
	if len(r.Unchecked()) != len(r.Invariants) {
		t.Errorf("nothing to look at for %v", r.Unchecked())
	}
	if got := text(t, r); !strings.Contains(got, "nothing shown, for: accepted, operations, ") || !strings.Contains(got, ", drones\n") {
		t.Errorf("not told:\n%s", got)
	}
	s := valid(t)
	if r := check(s); len(r.Unchecked()) > 0 || strings.Contains(text(t, r), "nothing shown") {
		t.Errorf("nothing to look at for %v", r.Unchecked())
	}
	s.Notifications = false
	if got := text(t, check(s)); !strings.Contains(got, "nothing shown, for: notices\n") {
		t.Errorf("not told:\n%s", got)
	}
}

type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestReportThatCanNotBeWritten(t *testing.T) {
	if err := (Report{}).WriteText(full{}); !errors.Is(err, errFull) {
		t.Errorf("%v", err)
	}
}
