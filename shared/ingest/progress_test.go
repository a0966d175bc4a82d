package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var midday = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// stores are both stores in memory. fail makes every operation fail.
type stores struct {
	documents map[string]*workflow.Progress
	requests  map[string]RequestRecord
	outside   *workflowtest.Outside
	fail      error
}

func (s *stores) Read(_ context.Context, id string) (*workflow.Progress, string, error) {
	if s.fail != nil {
		return nil, "", s.fail
	}
	if p, ok := s.documents[id]; ok {
		return p, "etag", nil
	}
	return nil, "", failure.New(failure.NotFound, "read transaction", id, nil)
}

type requests struct{ *stores }

func (r requests) Read(_ context.Context, id string) (RequestRecord, error) {
	if kept, ok := r.requests[id]; ok {
		return kept, nil
	}
	return RequestRecord{}, failure.New(failure.NotFound, "read request", id, nil)
}

func (r requests) Replace(context.Context, RequestRecord) error { panic("not asked for") }

func (r requests) CreateIfAbsent(context.Context, RequestRecord) (RequestRecord, error) {
	return RequestRecord{}, errors.New("progress must not write")
}

// newProgress has ids "m-…" minted at midday, and runs an hour later.
func newProgress() (*Progress, *stores) {
	s := &stores{documents: map[string]*workflow.Progress{}, requests: map[string]RequestRecord{}, outside: workflowtest.NewOutside(&workflowtest.Gate{})}
	return NewProgress(Known{
		Shards:   oneShard(Stamp{Transactions: s, Outside: s.outside}),
		Requests: requests{s}, Retention: 24 * time.Hour,
		Now:  func() time.Time { return midday.Add(time.Hour) },
		Mint: minted{},
	}), s
}

// minted knows ids by their form.
type minted struct{}

func (minted) New(shard.IDKind, string, shard.Number) (string, error) {
	return "", errors.New("progress must not mint")
}

func (minted) At(_ shard.IDKind, _, id string) (time.Time, bool) {
	return midday, strings.HasPrefix(id, "m-")
}

func document() *workflow.Progress {
	at := func(minutes int) workflow.Instant {
		return workflow.At(midday.Add(time.Duration(minutes) * time.Minute))
	}
	return &workflow.Progress{
		ID: "t-1", Schema: 1, State: workflow.Compensating, Cause: workflow.CauseCancelled, Reason: "cancelled by its client",
		Caller: "secret caller", Revision: 2, Request: json.RawMessage(`"secret request"`), Previous: json.RawMessage(`"secret previous"`),
		AcceptedAt: at(0), StartedAt: at(1), CompleteBy: at(60),
		Steps: []workflow.StepProgress{
			{Name: "package", State: workflow.StepUndoing, Effect: workflow.EffectYes, Attempts: 2, StartedAt: at(1), EndedAt: at(2),
				Result: json.RawMessage(`"secret result"`), Error: &workflow.StepError{Message: "old"},
				UndoAttempts: 1, UndoError: &workflow.StepError{Status: 503, Type: "unavailable", Message: "down", At: at(3)}},
			{Name: "drone", State: workflow.StepRejected, Attempts: 1,
				Error: &workflow.StepError{Status: 409, Type: "too-heavy", Message: "too heavy", At: at(2)}},
			{Name: "delivery", State: workflow.StepPending},
		},
		Operations: []workflow.OperationRecord{
			{ID: "o-1", Kind: workflow.OperationStart, State: workflow.OperationSuperseded, Reason: "cancelled", AcceptedAt: at(0), EndedAt: at(2)},
			{ID: "o-2", Kind: workflow.OperationCancel, State: workflow.OperationPending, Change: json.RawMessage(`"secret change"`), AcceptedAt: at(2)},
		},
		Lease: workflow.Lease{Runner: "secret runner", Epoch: 7, Until: at(5)}, Saves: 8, Wake: 9, WakeAt: at(6),
		TraceParent: "secret trace", TTL: 5,
	}
}

func TestGetShowsWhatIsTheClients(t *testing.T) {
	s, store := newProgress()
	store.documents["t-1"] = document()
	v, err := s.Get(t.Context(), "t-1", "secret caller")
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
  "id": "t-1",
  "state": "Compensating",
  "observed": true,
  "revision": 2,
  "cause": "cancelled",
  "reason": "cancelled by its client",
  "acceptedAt": "2030-05-06T12:00:00.000Z",
  "startedAt": "2030-05-06T12:01:00.000Z",
  "completeBy": "2030-05-06T13:00:00.000Z",
  "steps": [
    {
      "name": "package",
      "state": "Undoing",
      "effect": "yes",
      "attempts": 2,
      "startedAt": "2030-05-06T12:01:00.000Z",
      "endedAt": "2030-05-06T12:02:00.000Z",
      "error": {
        "status": 503,
        "type": "unavailable",
        "message": "down"
      }
    },
    {
      "name": "drone",
      "state": "Rejected",
      "effect": "no",
      "attempts": 1,
      "error": {
        "status": 409,
        "type": "too-heavy",
        "message": "too heavy"
      }
    },
    {
      "name": "delivery",
      "state": "Pending",
      "effect": "no",
      "attempts": 0
    }
  ],
  "operations": [
    {
      "id": "o-1",
      "transactionId": "t-1",
      "kind": "start",
      "state": "Superseded",
      "observed": true,
      "reason": "cancelled",
      "acceptedAt": "2030-05-06T12:00:00.000Z",
      "endedAt": "2030-05-06T12:02:00.000Z"
    },
    {
      "id": "o-2",
      "transactionId": "t-1",
      "kind": "cancel",
      "state": "Pending",
      "observed": true,
      "acceptedAt": "2030-05-06T12:02:00.000Z"
    }
  ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("view (-want +got):\n%s", diff)
	}
	if strings.Contains(string(got), "secret") {
		t.Error("the view shows what is internal")
	}
}

func TestGetWithoutADocument(t *testing.T) {
	accepted := View{State: workflow.Accepted, AcceptedAt: workflow.At(midday), Steps: []StepView{}, Operations: []OperationView{}}
	cases := []struct {
		name, id string
		known    bool
	}{
		{"a minted id", "m-1", true},
		{"an id that was put", "put", true},
		{"the id of another request's key", "key", false},
		{"an unknown id", "unknown", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, store := newProgress()
			store.requests["put"] = RequestRecord{ID: "put", TransactionID: "put", AcceptedAt: midday}
			store.requests["key"] = RequestRecord{ID: "key", TransactionID: "put", AcceptedAt: midday}
			v, err := s.Get(t.Context(), c.id, "")
			if !c.known {
				if !failure.Is(err, failure.NotFound) {
					t.Errorf("got %+v, %v, want not found", v, err)
				}
				return
			}
			want := accepted
			want.ID = c.id
			if diff := cmp.Diff(want, v); err != nil || diff != "" {
				t.Errorf("error %v, view (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestGetOperation(t *testing.T) {
	pending := func(id, operation string) OperationView {
		return OperationView{ID: operation, TransactionID: id, State: workflow.OperationPending, AcceptedAt: workflow.At(midday)}
	}
	observed := OperationView{
		ID: "o-2", TransactionID: "t-1", Kind: workflow.OperationCancel, State: workflow.OperationPending, Observed: true,
		AcceptedAt: workflow.At(midday.Add(2 * time.Minute)),
	}
	cases := []struct {
		name, id, operation string
		want                *OperationView // nil means not found
	}{
		{"on record", "t-1", "o-2", &observed},
		{"on its way to its transaction", "t-1", "m-5", new(pending("t-1", "m-5"))},
		{"on its way with its transaction", "m-1", "m-2", new(pending("m-1", "m-2"))},
		{"unknown", "t-1", "o-9", nil},
		{"unknown, of an accepted transaction", "m-1", "o-9", nil},
		{"of an unknown transaction", "t-9", "m-5", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, store := newProgress()
			store.documents["t-1"] = document()
			got, err := s.GetOperation(t.Context(), c.id, c.operation, "secret caller")
			if c.want == nil {
				if !failure.Is(err, failure.NotFound) {
					t.Errorf("got %+v, %v, want not found", got, err)
				}
				return
			}
			if diff := cmp.Diff(*c.want, got); err != nil || diff != "" {
				t.Errorf("error %v, operation (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestStoreIsDown(t *testing.T) {
	s, store := newProgress()
	store.fail = failure.New(failure.Transient, "read", "", errors.New("down"))
	if _, err := s.Get(t.Context(), "m-1", ""); !errors.Is(err, store.fail) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.GetOperation(t.Context(), "m-1", "m-2", ""); !errors.Is(err, store.fail) {
		t.Errorf("get operation: %v", err)
	}
}
