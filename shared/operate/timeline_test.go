package operate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that a time line has calls, undos, states, operations, and who did what, in
// their order, and says what each is.
func TestTimeline(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	e := w.keep([]byte(`{"transactionId":"t"}`))
	w.refused = false
	w.Clock.Advance(moment)
	if _, err := w.operate.Retry(t.Context(), "t", ada); err != nil {
		t.Fatal(err)
	}
	w.Settle()
	if err := w.Store.Change("t", func(p *workflow.Progress) {
		p.TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	}); err != nil {
		t.Fatal(err)
	}
	story := w.story()
	var got []string
	for i, e := range story.Timeline {
		if i > 0 && e.At.Before(story.Timeline[i-1].At.Time) {
			t.Errorf("%d is before %d", i, i-1)
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, e.Step, e.By))+": "+e.What)
	}
	for _, want := range []string{
		"operation: operation op-1 (start) was accepted", "operation: operation op-2 (cancel) is Applied", "state: Running (Start)",
		"state: Stuck (Stick): undo of hotel refused: no way back", "state  ada: Compensating (RetryUndo): the hotel is back", "state: Cancelled (EndUndo)",
		"step payment: step payment was first called",
		"undo hotel: step hotel was undone, attempt 2", "quarantine: " + e.ID + " was put into quarantine (MaxDeliveryCountExceeded)",
	} {
		if n := strings.Count("\n"+strings.Join(got, "\n")+"\n", "\n"+want+"\n"); n != 1 {
			t.Errorf("%q is there %d times:\n%s", want, n, strings.Join(got, "\n"))
		}
	}
	if id := "4bf92f3577b34da6a3ce929d0e0e4736"; story.TraceID != id || story.TraceURL != "https://traces.example.com/"+id {
		t.Errorf("trace %q at %q", story.TraceID, story.TraceURL)
	}
	if none := operate.Timeline(&workflow.Progress{}, nil); len(none) != 0 || none == nil {
		t.Errorf("of nothing: %#v", none)
	}
}
