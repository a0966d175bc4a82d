package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// settled waits for entries on a service that answers with the views of each
// transaction, one after the other, the last one for ever.
func settled(t *testing.T, views map[string][]string, limit time.Duration, entries ...invariant.LedgerEntry) ([]int, error) {
	t.Helper()
	var mu sync.Mutex
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := strings.Replace(strings.TrimPrefix(r.URL.Path, "/api/things/"), "/operations", "", 1)
		if len(views[id]) == 0 {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		fmt.Fprint(w, views[id][0])
		if len(views[id]) > 1 {
			views[id] = views[id][1:]
		}
	}))
	defer server.Close()
	client := workload.NewClient(workload.ClientOptions{URL: server.URL, Resource: things.Resource, Connections: 4})
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	s := &settling{client: client, stuckFor: func(id string) bool { return id == "refused" }}
	var shown []int
	err := s.wait(ctx, entries, func(open int) { shown = append(shown, open) })
	return shown, err
}

func TestSettling(t *testing.T) {
	at := func(id, operation string) invariant.LedgerEntry {
		return invariant.LedgerEntry{TransactionID: id, OperationID: operation}
	}
	running, done := `{"state":"Running"}`, `{"id":"t","state":"Completed","operations":[{"id":"a","state":"Applied"}]}`
	stuck := `{"state":"Stuck"}`
	both := `{"id":"t","state":"Cancelled","operations":[{"id":"a","state":"Superseded"},{"id":"b","state":"Applied"}]}`
	for name, c := range map[string]struct {
		views   map[string][]string
		entries []invariant.LedgerEntry
		settled bool
	}{
		"ends":               {map[string][]string{"t": {running, running, done}}, []invariant.LedgerEntry{at("t", "a")}, true},
		"appears":            {map[string][]string{"t": {done}}, []invariant.LedgerEntry{at("t", "a"), at("t", "a")}, true},
		"operation follows":  {map[string][]string{"t": {done, done, both}}, []invariant.LedgerEntry{at("t", "a"), at("t", "b")}, true},
		"operation lost":     {map[string][]string{"t": {done}}, []invariant.LedgerEntry{at("t", "a"), at("t", "b")}, false},
		"never ends":         {map[string][]string{"t": {running}}, []invariant.LedgerEntry{at("t", "a")}, false},
		"lost":               {nil, []invariant.LedgerEntry{at("t", "a")}, false},
		"stuck":              {map[string][]string{"t": {stuck}}, []invariant.LedgerEntry{at("t", "a")}, false},
		"stuck with a cause": {map[string][]string{"refused": {stuck}}, []invariant.LedgerEntry{at("refused", "a")}, true},
		"nothing":            {nil, nil, true},
		"outside":            {map[string][]string{"t": {done}, "t/b": {`{"id":"b","state":"Pending"}`, `{"id":"b","state":"Refused"}`}}, []invariant.LedgerEntry{at("t", "a"), at("t", "b")}, true},
		"outside, open":      {map[string][]string{"t": {done}, "t/b": {`{"id":"b","state":"Pending"}`}}, []invariant.LedgerEntry{at("t", "a"), at("t", "b")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shown, err := settled(t, c.views, 900*time.Millisecond, c.entries...)
			if c.settled && err != nil || !c.settled && !errors.Is(err, errNotSettled) {
				t.Errorf("error %v, settled is to be %v", err, c.settled)
			}
			if last := shown[len(shown)-1]; c.settled != (last == 0) {
				t.Errorf("%d are shown as open", last)
			}
		})
	}
}

func TestAtRest(t *testing.T) {
	ended := workflow.Progress{State: workflow.Completed}
	for name, c := range map[string]struct {
		snapshot invariant.Snapshot
		want     bool
	}{
		"nothing":      {invariant.Snapshot{}, true},
		"final":        {invariant.Snapshot{Stored: trial.Stored{Transactions: []workflow.Progress{ended, {State: workflow.Stuck}}}}, true},
		"open":         {invariant.Snapshot{Stored: trial.Stored{Transactions: []workflow.Progress{ended, {State: workflow.Running}}}}, false},
		"message":      {invariant.Snapshot{Queues: []invariant.Queue{{Active: 1}}}, false},
		"dead letter":  {invariant.Snapshot{Queues: []invariant.Queue{{DeadLetters: 1}}}, false},
		"later wake":   {invariant.Snapshot{Queues: []invariant.Queue{{Scheduled: 1}}}, true},
		"poison":       {invariant.Snapshot{Poison: []string{"a"}}, false},
		"other things": {invariant.Snapshot{Poison: []string{"a"}, Quarantine: make([]quarantine.Entry, 2)}, false},
		"found poison": {invariant.Snapshot{Poison: []string{invariant.BodyHash([]byte("a"))}, Quarantine: []quarantine.Entry{{}, {Body: "a"}}}, true},
	} {
		if got := atRest(c.snapshot); got != c.want {
			t.Errorf("%s: at rest %v", name, got)
		}
	}
}

// Ensure that each kind of request may end in its states, and in no other.
func TestEnds(t *testing.T) {
	cancel := []act{{Kind: workflow.OperationReschedule}, {Kind: workflow.OperationCancel}}
	move := cancel[:1]
	for _, c := range []struct {
		kind    string
		acts    []act
		refused bool
		want    []workflow.State
	}{
		{"plain", nil, true, []workflow.State{workflow.Completed}},
		{"plain", move, true, []workflow.State{workflow.Completed}},
		{"far", cancel, false, []workflow.State{workflow.Completed, workflow.Cancelled}},
		{"plain", cancel, true, []workflow.State{workflow.Completed, workflow.Cancelled, workflow.Stuck}},
		{"suspended", nil, false, []workflow.State{workflow.Rejected}},
		{"suspended", cancel, false, []workflow.State{workflow.Rejected, workflow.Cancelled}},
		{"heavy", nil, false, []workflow.State{workflow.Compensated}},
		{"heavy", move, true, []workflow.State{workflow.Compensated, workflow.Stuck}},
	} {
		got := ends(sending{Item: workload.Item{Kind: kindNamed(c.kind)}, Acts: c.acts}, false, c.refused)
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s with %v, undo refused %v (-want +got):\n%s", c.kind, c.acts, c.refused, diff)
		}
	}
	got := ends(sending{Item: workload.Item{Kind: kindNamed("suspended")}}, true, true)
	if diff := cmp.Diff([]workflow.State{workflow.Rejected, workflow.Compensated, workflow.Stuck}, got); diff != "" {
		t.Errorf("a refusal where something may have been done (-want +got):\n%s", diff)
	}
	refusal := &workflow.StepError{Status: 422}
	outcomes := []outcome{{sending: sending{Item: workload.Item{Kind: kindNamed("plain")}}, transactionID: ""}}
	transactions := map[string]*workflow.Progress{}
	for _, c := range []struct {
		id, kind string
		state    workflow.State
		steps    []workflow.StepProgress
	}{
		{"well", "plain", workflow.Completed, nil},
		{"undone", "plain", workflow.Compensated, nil},
		{"flown", "heavy", workflow.Completed, nil},
		{"open", "plain", workflow.Running, nil},
		{"refused", "suspended", workflow.Rejected, []workflow.StepProgress{{Error: refusal, Attempts: 1}, {}}},
		{"after a crash", "suspended", workflow.Compensated, []workflow.StepProgress{
			{Error: refusal, Attempts: 2, Effect: workflow.EffectMaybe}, {Attempts: 1, Effect: workflow.EffectMaybe, UndoAttempts: 1}}},
		{"at its first try", "suspended", workflow.Compensated, []workflow.StepProgress{
			{Error: refusal, Attempts: 1}, {Attempts: 1, Effect: workflow.EffectMaybe, UndoAttempts: 1}}},
	} {
		outcomes = append(outcomes, outcome{sending: sending{Item: workload.Item{Kind: kindNamed(c.kind)}}, transactionID: c.id})
		transactions[c.id] = &workflow.Progress{ID: c.id, State: c.state, Steps: c.steps}
	}
	var ids []string
	for _, f := range checkEnds(outcomes, transactions, func(string) bool { return false }) {
		ids = append(ids, f.ID)
	}
	if want := []string{"undone", "flown", "at its first try"}; !slices.Equal(ids, want) {
		t.Errorf("found %v, want %v", ids, want)
	}
}

// Ensure that no client is told that its cancel has failed if it took effect.
func TestCancelsAreToldAsTheyEnd(t *testing.T) {
	states := map[string]workflow.State{"done": workflow.Cancelled, "not": workflow.Completed}
	operations := map[string]workflow.OperationState{"applied": workflow.OperationApplied, "refused": workflow.OperationRefused}
	for _, c := range []struct {
		told cancelled
		ok   bool
	}{
		{cancelled{"done", "applied", wasAccepted, true}, true},
		{cancelled{"done", "refused", wasAccepted, true}, false},
		{cancelled{"done", "unknown", wasAccepted, true}, false},
		{cancelled{"done", "refused", wasAccepted, false}, true}, // another's has taken effect
		{cancelled{"done", "", wasRefused, true}, false},
		{cancelled{"done", "", wasRefused, false}, true},
		{cancelled{"done", "", wasUnanswered, true}, true},
		{cancelled{"not", "refused", wasAccepted, true}, true},
		{cancelled{"not", "", wasRefused, true}, true},
	} {
		found := checkCancels([]cancelled{c.told}, func(id string) workflow.State { return states[id] },
			func(id string) workflow.OperationState { return operations[id] })
		if (len(found) == 0) != c.ok {
			t.Errorf("%+v: %+v", c.told, found)
		}
	}
}

func TestFolderOfARun(t *testing.T) {
	dir := t.TempDir()
	if err := emptyFolder(dir, "first"); err != nil {
		t.Fatal(err)
	}
	note(t, dir+"/old", "x")
	if err := emptyFolder(dir, "second"); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	note(t, other+"/precious", "x")
	if err := emptyFolder(other, "third"); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("a folder with something else in it is taken: %v", err)
	}
	if c := (Config{}).Validate(); c == nil || strings.Count(c.Error(), "\n") < 3 {
		t.Errorf("a config without anything: %v", c)
	}
}
