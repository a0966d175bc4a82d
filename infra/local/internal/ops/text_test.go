package ops

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(ms int) workflow.Instant { return workflow.At(noon.Add(time.Duration(ms) * time.Millisecond)) }

// stuckStory is the story of a transaction whose drone can't be called back.
func stuckStory() operate.Story {
	refused := &workflow.StepError{Status: 405, Type: "not-recallable", Message: "it is in\nthe air", At: at(350)}
	s := operate.Story{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736",
		Transaction: &workflow.Progress{
			Wake: 7, Laters: 2, Sweeps: 1,
			ID: "t-1", State: workflow.Stuck, Cause: workflow.CauseFailed, Reason: "undo of drone refused: it is in the air", Revision: 1,
			AcceptedAt: at(0),
			Steps: []workflow.StepProgress{
				{Name: "account", State: workflow.StepSucceeded, Effect: workflow.EffectYes, Attempts: 1, Revision: 1, StartedAt: at(10), EndedAt: at(20), Result: json.RawMessage(`{"id":"owner-1"}`)},
				{Name: "drone", State: workflow.StepUndoing, Effect: workflow.EffectYes, Attempts: 2, Revision: 1, StartedAt: at(20), EndedAt: at(350), UndoAttempts: 3, UndoError: refused},
				{Name: "delivery", State: workflow.StepRejected, Attempts: 1, StartedAt: at(100), EndedAt: at(200),
					Error: &workflow.StepError{Status: 422, Message: "no", At: at(200)}},
			},
			Operations: []workflow.OperationRecord{
				{ID: "o-1", Kind: workflow.OperationStart, State: workflow.OperationRefused, Reason: "delivery: no", AcceptedAt: at(0), EndedAt: at(200)},
				{ID: "o-2", Kind: workflow.OperationCancel, State: workflow.OperationPending, AcceptedAt: at(300)},
			},
			History: []workflow.StateChange{
				{At: at(10), Transition: workflow.TransitionStart, State: workflow.Running},
				{At: at(200), Transition: workflow.TransitionCompensate, State: workflow.Compensating, Reason: "delivery: no"},
				{At: at(250), Transition: workflow.TransitionStick, State: workflow.Stuck, Reason: "first"},
				{At: at(340), Transition: workflow.TransitionRetryUndo, State: workflow.Compensating, By: "ada", Reason: "again\x1b[2J"},
				{At: at(350), Transition: workflow.TransitionStick, State: workflow.Stuck, Reason: "undo of drone refused: it is in the air"},
			},
		},
		Remaining: []operate.Remaining{
			{Step: "drone", Effect: workflow.EffectYes, Backend: "drone", Method: "DELETE", Path: "dronedeliveries/t-1", OperationID: "o-1", Revision: 1, Attempts: 3, Error: refused},
			{Step: "unknown", Effect: workflow.EffectMaybe, Revision: 1},
		},
		Next: []operate.Expectation{{What: "nothing by itself: it waits for an operator"}, {At: at(5000), What: "a notice is delivered"}},
		Acts: []string{"retry", "giveup"},
		Quarantine: []quarantine.Entry{{
			ID: "q.1", Reason: "MaxDeliveryCountExceeded", Detail: "10 times", At: noon.Add(260 * time.Millisecond),
			Acts: []quarantine.Act{{At: noon.Add(400 * time.Millisecond), Act: quarantine.ActRedrive, By: "bob", Why: "try", Result: "transaction t-1 is Stuck"}},
		}},
		MoreInQuarantine: true,
	}
	s.Timeline = operate.Timeline(s.Transaction, s.Quarantine)
	return s
}

func TestWriteStory(t *testing.T) {
	var b strings.Builder
	if err := WriteStory(&b, stuckStory(), "ops"); err != nil {
		t.Fatal(err)
	}
	want := `transaction t-1 is Stuck (failed): undo of drone refused: it is in the air

  2026-05-04 12:00:00.000Z  operation o-1 (start) was accepted
  2026-05-04 12:00:00.010Z  Running (Start)
  2026-05-04 12:00:00.010Z  step account was first called
  2026-05-04 12:00:00.020Z  step account has succeeded, revision 1, attempt 1
  2026-05-04 12:00:00.020Z  step drone was first called
  2026-05-04 12:00:00.100Z  step delivery was first called
  2026-05-04 12:00:00.200Z  step delivery failed, attempt 1: 422 no
  2026-05-04 12:00:00.200Z  operation o-1 (start) is Refused: delivery: no
  2026-05-04 12:00:00.200Z  Compensating (Compensate): delivery: no
  2026-05-04 12:00:00.250Z  Stuck (Stick): first
  2026-05-04 12:00:00.260Z  q.1 was put into quarantine (MaxDeliveryCountExceeded): 10 times
  2026-05-04 12:00:00.300Z  operation o-2 (cancel) was accepted
  2026-05-04 12:00:00.340Z  Compensating (RetryUndo): again [2J [by ada]
  2026-05-04 12:00:00.350Z  undo of step drone failed, attempt 3: 405 not-recallable: it is in the air
  2026-05-04 12:00:00.350Z  Stuck (Stick): undo of drone refused: it is in the air
  2026-05-04 12:00:00.400Z  redrive of q.1: try: transaction t-1 is Stuck [by bob]
  and more in the quarantine

wakes: 7; the last 2 brought nothing forward, Sweep has sent 1 since a runner answered

trace: 4bf92f3577b34da6a3ce929d0e0e4736

steps:
  STEP      STATE      EFFECT  ATTEMPTS  UNDOS  REVISION  RESULT OR ERROR
  account   Succeeded  yes     1         0      1         {"id":"owner-1"}
  drone     Undoing    yes     2         3      1         undo: 405 not-recallable: it is in the air
  delivery  Rejected   no      1         0      0         422 no

left to be undone, in this order:
  drone (effect: yes): DELETE dronedeliveries/t-1 of backend drone, with Transaction-Id: t-1, Revision: 1, Operation-Id: o-1; tried 3 times: 405 not-recallable: it is in the air
  unknown (effect: maybe): this version of the app does not know how

next:
                            nothing by itself: it waits for an operator
  2026-05-04 12:00:05.000Z  a notice is delivered

you can:
  ops retry t-1 -why …
  ops giveup t-1 -why …
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteStoryOfWhatRests(t *testing.T) {
	var b strings.Builder
	s := operate.Story{
		Transaction: &workflow.Progress{ID: "t-1", State: workflow.Completed, EndedAt: at(0), Steps: []workflow.StepProgress{
			{Name: "account", State: workflow.StepUndone, EndedAt: at(5), UndoAttempts: 1},
		}},
		Next: []operate.Expectation{{At: at(9), What: "its document expires"}},
	}
	s.Timeline = operate.Timeline(s.Transaction, nil)
	if err := WriteStory(&b, s, "ops"); err != nil {
		t.Fatal(err)
	}
	want := `transaction t-1 is Completed

  2026-05-04 12:00:00.005Z  step account was undone, attempt 1

steps:
  STEP     STATE   EFFECT  ATTEMPTS  UNDOS  REVISION  RESULT OR ERROR
  account  Undone  no      0         1      0         -

next:
  2026-05-04 12:00:00.009Z  its document expires
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteLists(t *testing.T) {
	var b strings.Builder
	err := WriteTransactions(&b, of(0, []operate.Summary{
		{ID: "t-1", State: workflow.Stuck, Since: at(0), Cause: workflow.CauseFailed, Reason: strings.Repeat("ö", 100)},
		{ID: "t-2", State: workflow.Running, WakeAt: at(1), Step: "drone", Attempts: 3, Unusual: []operate.Trouble{operate.Failing, operate.Overdue},
			LastError: "503 two\nlines\tof \x1b]0;text", Reason: "another"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	err = WriteEntries(&b, of(0, []quarantine.Entry{
		{ID: "hub.3.17", Source: "hub.3", State: quarantine.Kept, At: noon, Reason: "Unreadable", Detail: "not JSON"},
		{ID: "q.1", Source: "q", State: quarantine.Dropped, Reason: "Expired", TransactionID: "t-1"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	err = WriteResults(&b, []operate.Result{
		{ID: "t-1", Done: true, State: "Compensating"}, {ID: "t-2", Done: true, Repeated: true, State: "Running"}, {ID: "t-3", Result: "nothing is known of it"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `ID   STATE    SINCE                 STEP   ATTEMPTS  NEXT WAKE             CAUSE   UNUSUAL          LAST ERROR OR REASON
t-1  Stuck    2026-05-04 12:00:00Z  -      0         -                     failed  -                ` + strings.Repeat("ö", maxCell-1) + `…
t-2  Running  -                     drone  3         2026-05-04 12:00:00Z  -       failing overdue  503 two lines of ]0;text
SOURCE  ID        STATE    SINCE                 REASON      TRANSACTION  DETAIL
hub.3   hub.3.17  Kept     2026-05-04 12:00:00Z  Unreadable  -            not JSON
q       q.1       Dropped  -                     Expired     t-1          -
ID   DONE    STATE         RESULT
t-1  yes     Compensating  -
t-2  before  Running       -
t-3  no      -             nothing is known of it
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteEntry(t *testing.T) {
	e := quarantine.Entry{
		ID: "hub.3.17", Source: "hub.3", SequenceNumber: 17, State: quarantine.Kept, At: noon, Reason: "Unreadable", Detail: "not JSON",
		Properties: map[string]any{"b": 2.0, "a": "x\x1b"}, TransactionID: "t-1", MessageID: "m-1", Body: "one\r\n\x1b[2Jtwo\u202e",
		Acts: []quarantine.Act{{At: noon, Act: quarantine.ActRedrive, By: "ada", Why: "try"}},
	}
	var b strings.Builder
	if err := WriteEntry(&b, e, "ops"); err != nil {
		t.Fatal(err)
	}
	want := `entry hub.3.17 is Kept

  source       hub.3
  number       17
  since        2026-05-04 12:00:00Z
  reason       Unreadable
  detail       not JSON
  transaction  t-1
  message      m-1
  property     a = "x\u001b"
  property     b = 2
  act          2026-05-04 12:00:00Z  redrive by ada: try; what came of it is not known

body, 15 bytes as text:
  one
  ?[2Jtwo?

you can:
  ops quarantine redrive hub.3 hub.3.17 -why …
  ops quarantine drop hub.3 hub.3.17 -why …
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	e.State, e.Encoding, e.Body = quarantine.Dropped, quarantine.Base64, "/w=="
	b.Reset()
	if err := WriteEntry(&b, e, "ops"); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "you can") || !strings.Contains(text, "4 bytes as base64:\n  /w==") {
		t.Errorf("got %s", text)
	}
}

func TestWriteActed(t *testing.T) {
	var b strings.Builder
	acted := operate.Acted{ID: "t-1", State: workflow.Compensating}
	entry := operate.EntryActed{Entry: quarantine.Entry{ID: "q.1", State: quarantine.Redriven}, Result: "sent"}
	for range 2 {
		if err := WriteActed(&b, acted, "ops"); err != nil {
			t.Fatal(err)
		}
		if err := WriteEntryActed(&b, entry); err != nil {
			t.Fatal(err)
		}
		acted.Repeated, entry.Repeated = true, true
	}
	want := `transaction t-1 is Compensating; see ops show t-1
entry q.1 is Redriven: sent
transaction t-1 is Compensating (it was done before; nothing was done now); see ops show t-1
entry q.1 is Redriven (it was done before; nothing was done now): sent
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
