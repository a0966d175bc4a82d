package operate_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// status asks for the status, as it is after so long.
func (w *world) status(after time.Duration) operate.Status {
	w.t.Helper()
	w.Clock.Advance(after)
	s, err := w.operate.Status(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// report stores a report of now.
func (w *world) report(r operate.Report) {
	w.t.Helper()
	r.At = w.Clock.Now()
	if err := w.told.Report(context.Background(), r); err != nil {
		w.t.Fatal(err)
	}
}

// survey stores one of now.
func (w *world) survey(s operate.Survey) {
	w.t.Helper()
	s.At = w.Clock.Now()
	if err := w.told.Surveyed(context.Background(), s); err != nil {
		w.t.Fatal(err)
	}
}

func keys(s operate.Status) string {
	var out []string
	for _, u := range s.Unusual {
		out = append(out, u.Key)
	}
	return strings.Join(out, " ")
}

// Each thing that is unusual is named, with the paragraph that tells what to do, which
// must be there; what is near to it is not.
func TestUnusual(t *testing.T) {
	docs, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	now, seen := newWorld(t).Clock.Now(), map[string]bool{"failing-functions": true} // see below
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	calls := func(failed float64) operate.Report {
		return operate.Report{Steps: []operate.StepFlow{{Step: "hotel", Backend: "hotels", PerSecond: 10, FailedPerSecond: failed, Error: "timeout"}}}
	}
	open := func(state workflow.State, n int, oldest time.Duration) operate.Survey {
		return operate.Survey{States: map[workflow.State]operate.Count{state: {Count: n, OldestAt: ago(oldest)}}}
	}
	lag := func(n int64, unread, renewed time.Duration) operate.Survey {
		return operate.Survey{Partitions: []operate.Lag{{Partition: "3", Lag: n, OldestUnreadAt: ago(unread), RenewedAt: ago(renewed)}}}
	}
	for name, c := range map[string]struct {
		report operate.Report
		survey operate.Survey
		want   string // its key, and a part of what it says; "" for none
		says   string
	}{
		"all is well":             {report: operate.Report{Accepting: operate.Accepting{PerSecond: 9, Buffer: 7, Room: 10, Fullest: 0.7}}},
		"a breaker":               {report: operate.Report{Breakers: map[string]time.Time{"hotels": ago(time.Minute)}}, want: "breaker.hotels", says: "hotels"},
		"a step fails":            {report: calls(3), want: "step.hotel", says: "30 % of the calls of step hotel to hotels fail (timeout)"},
		"a step fails seldom":     {report: calls(1)},
		"the hub takes nothing":   {report: operate.Report{Accepting: operate.Accepting{FailedPerSecond: 2}}, want: "accept.failed", says: "2.0 requests a second"},
		"busy":                    {report: operate.Report{Accepting: operate.Accepting{PerSecond: 100, RefusedPerSecond: 1.1}}, want: "accept.refused", says: "1.1 requests a second"},
		"hardly busy":             {report: operate.Report{Accepting: operate.Accepting{PerSecond: 100, RefusedPerSecond: 1}}},
		"an undo was refused":     {report: operate.Report{Steps: []operate.StepFlow{{Step: "hotel", Backend: "hotels", UndoRefusedAt: ago(time.Second)}}}, want: "undo.hotel", says: "hotels refuses the undo of step hotel"},
		"Service Bus is away":     {report: operate.Report{UnsentSince: ago(7 * time.Second)}, want: "relay.unsent", says: "nothing from an instance for 7s"},
		"sign-ins":                {report: operate.Report{SignInsRefused: 1}, want: "sign-ins", says: "1.0 requests a second"},
		"a sign-in":               {report: operate.Report{SignInsRefused: 0.9}},
		"runs for long":           {survey: open(workflow.Running, 3, 2*time.Hour), want: "waiting.Running", says: "3 Running transactions, the oldest accepted 2h0m0s ago"},
		"runs":                    {survey: open(workflow.Running, 3, time.Hour)},
		"is not begun":            {survey: open(workflow.Accepted, 1, 2*time.Hour), want: "waiting.Accepted", says: "1 Accepted transaction,"},
		"a full buffer":           {report: operate.Report{Accepting: operate.Accepting{Fullest: 0.8}}, want: "accept.buffer", says: "80 % full"},
		"Cosmos DB throttles":     {report: operate.Report{Database: operate.Database{PerSecond: 8, ThrottledPerSecond: 4}}, want: "database.throttled", says: "50 % of the operations"},
		"it does seldom":          {report: operate.Report{Database: operate.Database{PerSecond: 10, ThrottledPerSecond: 1}}},
		"Stuck":                   {survey: open(workflow.Stuck, 2, time.Minute), want: "stuck", says: "2 Stuck transactions"},
		"an undo lasts":           {survey: open(workflow.Compensating, 1, 2*time.Hour), want: "undo", says: "1 transaction, the oldest accepted 2h0m0s ago"},
		"an undo":                 {survey: open(workflow.Compensating, 1, time.Minute)},
		"more than one counts":    {survey: operate.Survey{States: map[workflow.State]operate.Count{workflow.Stuck: {Count: 100, More: true}}}, want: "stuck", says: "more than 100"},
		"wakes nobody answers":    {survey: operate.Survey{Overdue: operate.Count{Count: 1, OldestAt: ago(6 * time.Minute)}}, want: "overdue", says: "1 transaction, the oldest for 6m0s"},
		"wakes about to be":       {survey: operate.Survey{Overdue: operate.Count{Count: 1, OldestAt: ago(4 * time.Minute)}}},
		"quarantine":              {survey: operate.Survey{Quarantine: operate.Count{Count: 1}}, want: "quarantine", says: "1 message."},
		"notices":                 {survey: operate.Survey{Notices: operate.Count{Count: 1, OldestAt: ago(time.Hour)}}, want: "notices", says: "1h0m0s"},
		"Relay behind":            {survey: lag(5, 2*time.Minute, time.Second), want: "relay.behind", says: "Relay is behind in 1 partition; 5 events, the oldest waits for 2m0s."},
		"Relay gone":              {survey: lag(5, 2*time.Minute, 3*time.Minute), want: "relay.stands", says: "Nobody reads 1 partition; 5 events"},
		"Relay a little behind":   {survey: lag(5, 30*time.Second, time.Second)},
		"dead letters":            {survey: operate.Survey{Queues: []operate.QueueCount{{Queue: "q", Active: 5, Scheduled: 6, Dead: 1}}}, want: "dead.q", says: "Queue q has 1 dead letter"},
		"messages":                {survey: operate.Survey{Queues: []operate.QueueCount{{Queue: "q", Active: 5, Scheduled: 6}}}},
		"what could not be asked": {survey: operate.Survey{Failed: []string{"queues: no right"}}, want: "survey.0", says: "queues: no right"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.report(c.report)
			w.survey(c.survey)
			s := w.status(0)
			if got := keys(s); got != c.want {
				t.Fatalf("unusual: %q, want %q", got, c.want)
			}
			for _, u := range s.Unusual {
				seen[u.About] = true
				if !strings.Contains(u.Says, c.says) || u.Do == "" || u.Since.IsZero() || u.Since.After(s.At) {
					t.Errorf("%+v, want %q", u, c.says)
				}
				if !strings.Contains(string(docs), "\n### "+u.About+"\n") {
					t.Errorf("docs/operations.md has no paragraph %s", u.About)
				}
			}
		})
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, operate.Headings) {
		t.Errorf("it is about %v, and Headings are %v", got, operate.Headings)
	}
	w := newWorld(t)
	if got := keys(w.status(time.Second)); got != "survey.none" {
		t.Errorf("without a survey: %q", got)
	}
	w.survey(operate.Survey{})
	if got := keys(w.status(3*time.Minute + time.Second)); got != "survey.old" {
		t.Errorf("with an old survey: %q", got)
	}
}

// What is urgent comes first, and what lasts keeps its time until it has ended.
func TestUnusualSince(t *testing.T) {
	w := newWorld(t)
	w.told.InQuarantine = 1
	w.survey(operate.Survey{Quarantine: operate.Count{Count: 1}, Queues: []operate.QueueCount{{Queue: "q", Dead: 1}}})
	first := w.status(time.Second)
	later := w.status(time.Minute)
	if keys(later) != "quarantine dead.q" || !later.Unusual[0].Since.Equal(first.At) || later.At.Equal(first.At) {
		t.Errorf("%+v", later.Unusual)
	}
	w.survey(operate.Survey{})
	if got := keys(w.status(10 * time.Second)); got != "" {
		t.Errorf("after it: %q", got)
	}
	w.survey(operate.Survey{Quarantine: operate.Count{Count: 1}})
	if again := w.status(10 * time.Second); !again.Unusual[0].Since.Equal(again.At) {
		t.Errorf("again: %+v", again)
	}
}

// A refused undo is told no more once any instance has undone the step.
func TestStatusOfAnUndoBySeveral(t *testing.T) {
	w := newWorld(t)
	w.survey(operate.Survey{})
	refused := w.Clock.Now()
	for name, c := range map[string]struct {
		undone time.Time
		told   bool
	}{"before": {refused.Add(-time.Second), true}, "since": {refused.Add(time.Second), false}} {
		w.report(operate.Report{Instance: "a.1", Steps: []operate.StepFlow{{Step: "hotel", Backend: "hotels", UndoRefusedAt: refused}}})
		w.report(operate.Report{Instance: "b.1", Steps: []operate.StepFlow{{Step: "hotel", Backend: "hotels", UndoneAt: c.undone}}})
		s := w.status(10 * time.Second)
		if told := slices.ContainsFunc(s.Unusual, func(u operate.Unusual) bool { return u.Key == "undo.hotel" }); told != c.told {
			t.Errorf("undone %s it was refused: %+v", name, s.Unusual)
		}
	}
}

// Reports add up; one that is old counts for nothing but that its instance was there.
func TestStatusFolds(t *testing.T) {
	w := newWorld(t)
	opened := w.Clock.Now().Add(-time.Minute)
	for _, name := range []string{"b.1", "a.1"} {
		w.report(operate.Report{
			Instance: name, Accepting: operate.Accepting{PerSecond: 10, RefusedPerSecond: 3, Buffer: 2, Room: 10, Fullest: 0.2}, SignInsRefused: 2, Ends: map[workflow.State]float64{workflow.Completed: 5},
			Latency: 2, UndosBegun: 1, Steps: []operate.StepFlow{{Step: "hotel", Backend: "hotels", InFlight: 1, PerSecond: 4, UndoRefusedAt: opened}},
			Breakers: map[string]time.Time{"cars": opened},
		})
		opened = opened.Add(-time.Minute)
	}
	w.survey(operate.Survey{Partitions: []operate.Lag{{Partition: "0", Lag: 7}}, Queues: []operate.QueueCount{{Queue: "q", Active: 3, Scheduled: 9}}})
	s := w.status(time.Second)
	if a := s.Accepting; a.PerSecond != 20 || a.RefusedPerSecond != 6 || s.SignInsRefused != 4 || a.Buffer != 4 || a.Room != 20 || a.Fullest != 0.2 || s.UndosBegun != 2 || s.Ends[workflow.Completed] != 10 {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]operate.StepFlow{{Step: "hotel", Backend: "hotels", InFlight: 2, PerSecond: 8, UndoRefusedAt: opened.Add(2 * time.Minute)}}, s.Steps); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if len(s.Breakers) != 1 || s.Breakers[0].Instances != 2 || !s.Breakers[0].Since.Equal(opened.Add(time.Minute)) {
		t.Errorf("breakers %+v", s.Breakers)
	}
	h, last := s.History, len(s.History.Backlog)-1
	if last != 59 || h.Backlog[last] != 10 || h.Accepted[last] != 20 || h.Completed[last] != 10 || h.Latency[last] != 2 {
		t.Errorf("history %+v", h)
	}
	s = w.status(2 * time.Minute)
	if len(s.Instances) != 2 || s.Instances[0].Instance != "a.1" || s.Accepting.PerSecond != 0 || len(s.Breakers) != 0 {
		t.Errorf("two minutes later: %+v", s)
	}
	if h := s.History; h.Backlog[57] != 10 || h.Backlog[58] != 0 || h.Accepted[57] != 20 || h.Accepted[59] != 0 {
		t.Errorf("history two minutes later: %+v", h)
	}
	if s = w.status(time.Minute); len(s.Instances) != 0 {
		t.Errorf("three minutes later: %+v", s.Instances)
	}
}

// A status holds for five seconds, in the instance and for the others.
func TestStatusIsPutTogetherSeldom(t *testing.T) {
	w := newWorld(t)
	first := w.status(0)
	asked := w.told.Asked()
	if s := w.status(4 * time.Second); !s.At.Equal(first.At) || w.told.Asked() != asked {
		t.Errorf("the store was asked, or the status is of %v", s.At)
	}
	other := newWorld(t)
	other.told, other.operate = w.told, w.instance(other)
	if s := other.status(w.Clock.Now().Sub(other.Clock.Now())); !s.At.Equal(first.At) || w.told.Asked() != asked+1 {
		t.Errorf("another instance has one of %v, with %d questions", s.At, w.told.Asked()-asked)
	}
	if s := w.status(time.Second); !s.At.After(first.At) {
		t.Errorf("after five seconds it is of %v", s.At)
	}
	w.told.Fail = func() error { return errors.New("away") }
	w.Clock.Advance(time.Minute)
	if _, err := w.operate.Status(t.Context()); err == nil {
		t.Error("no error without a store")
	}
}

// Who asks stores a status only where none of the last minute is stored; Sweep does
// whenever it runs. What is not stored is remembered, too.
func TestStatusIsStoredSeldom(t *testing.T) {
	w := newWorld(t)
	w.survey(operate.Survey{Quarantine: operate.Count{Count: 1}})
	stored := func() time.Time {
		t.Helper()
		s, _, _, err := w.told.Read(t.Context())
		if err != nil || s == nil {
			t.Fatal(s, err)
		}
		return s.At
	}
	first := w.status(0)
	if !stored().Equal(first.At) {
		t.Error("the first is not stored")
	}
	w.survey(operate.Survey{Queues: []operate.QueueCount{{Queue: "q", Dead: 1}}})
	second := w.status(20 * time.Second)
	third := w.status(20 * time.Second)
	if !stored().Equal(first.At) || !third.At.After(second.At) || keys(third) != "dead.q" || !third.Unusual[0].Since.Equal(second.At) {
		t.Errorf("stored at %v; %+v, then %+v", stored(), second.Unusual, third.Unusual)
	}
	w.Clock.Advance(time.Second)
	if err := w.operate.Survey(t.Context()); err != nil || !stored().After(third.At) {
		t.Errorf("%v, and what is stored after Sweep is of %v", err, stored())
	}
	if last := w.status(time.Minute); !stored().Equal(last.At) {
		t.Errorf("a minute without Sweep: one of %v is stored", stored())
	}
}

// Survey counts what is there, once a minute, and tells what it can't find out.
func TestSurvey(t *testing.T) {
	w := newWorld(t)
	w.stuck()
	w.lag = partitions{{ConsumerGroup: "audit", Partition: "0", Lag: 99}, {ConsumerGroup: "relay", Partition: "0", Lag: 4}}
	w.told.Counts = []operate.QueueCount{{Queue: "q", Active: 2}}
	survey := func() operate.Survey {
		t.Helper()
		if err := w.operate.Survey(t.Context()); err != nil {
			t.Fatal(err)
		}
		_, s, _, err := w.told.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := survey()
	if s.States[workflow.Stuck].Count != 1 || s.States[workflow.Running].Count != 0 || len(s.States) != 4 || len(s.Failed) != 0 {
		t.Errorf("%+v", s)
	}
	if len(s.Partitions) != 1 || s.Partitions[0].Lag != 4 || len(s.Queues) != 1 {
		t.Errorf("%+v", s)
	}
	w.Clock.Advance(30 * time.Second)
	if again := survey(); !again.At.Equal(s.At) {
		t.Error("surveyed again after half a minute")
	}
	w.Clock.Advance(26 * time.Second)
	if again := survey(); again.At.Equal(s.At) {
		t.Error("not surveyed again after the next run of the timer")
	}
	if got := keys(w.status(0)); got != "stuck" {
		t.Errorf("unusual: %q", got)
	}
	if n := strings.Count(w.log.String(), `"msg":"something is unusual","key":"stuck","about":"stuck","urgent":true`); n != 2 {
		t.Errorf("logged %d times with 2 surveys:\n%s", n, &w.log)
	}
	if err := w.operate.Well(t.Context()); err == nil || !strings.Contains(err.Error(), "1 Stuck transaction") {
		t.Errorf("well: %v", err)
	}
}
