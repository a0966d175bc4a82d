package operate_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// What people wait for is counted again, at most every ten seconds, and sooner when an
// instance has put something into the quarantine. What is much is left to Sweep, and so is what
// can't be counted.
func TestRecount(t *testing.T) {
	w := newWorld(t)
	behind := func(n int64) operate.Lag {
		return operate.Lag{Partition: "0", Lag: n, OldestUnreadAt: w.Clock.Now().Add(-2 * time.Minute), RenewedAt: w.Clock.Now()}
	}
	troubled := func(kept int) {
		w.survey(operate.Survey{
			Quarantine: operate.Count{Count: kept}, States: map[workflow.State]operate.Count{workflow.Stuck: {Count: 2}}, Partitions: []operate.Lag{behind(3)},
		})
	}
	w.lag = partitions{{ConsumerGroup: "relay", Partition: "0"}}
	troubled(1)
	sorted := func(s operate.Status) string {
		got := strings.Fields(keys(s))
		slices.Sort(got)
		return strings.Join(got, " ")
	}
	if got := sorted(w.status(9 * time.Second)); got != "quarantine relay.behind stuck" {
		t.Errorf("after 9 s: %q", got)
	}
	s := w.status(5 * time.Second)
	if got := keys(s); got != "" || len(s.Survey.Partitions) != 1 {
		t.Errorf("after 14 s: %q, %+v", got, s.Survey)
	}
	w.told.InQuarantine = 1
	if got := keys(w.status(9 * time.Second)); got != "" {
		t.Errorf("9 s after counting: %q", got)
	}
	if got := keys(w.status(5 * time.Second)); got != "quarantine" {
		t.Errorf("14 s after counting: %q", got)
	}
	if _, v, _, err := w.told.Read(t.Context()); err != nil || v.Quarantine.Count != 1 || v.States[workflow.Stuck].Count != 2 {
		t.Errorf("Sweep's survey is changed: %+v, %v", v, err)
	}
	// A new one knows better.
	w.survey(operate.Survey{})
	if got := keys(w.status(15 * time.Second)); got != "" {
		t.Errorf("after a survey: %q", got)
	}
	w.told.InQuarantine = 5
	w.report(operate.Report{Instance: "a.1", KeptAt: w.Clock.Now()})
	if s := w.status(5 * time.Second); keys(s) != "quarantine" || s.Survey.Quarantine.Count != 5 {
		t.Errorf("an instance has kept something: %q, %+v", keys(s), s.Survey)
	}
	w.told.InQuarantine = 6
	w.report(operate.Report{Instance: "a.1", KeptAt: w.Clock.Now().Add(time.Second)})
	if s := w.status(5 * time.Second); s.Survey.Quarantine.Count != 6 {
		t.Errorf("and again: %+v", s.Survey.Quarantine)
	}
	troubled(1000)
	if s := w.status(20 * time.Second); s.Survey.Quarantine.Count != 1000 || s.Survey.States[workflow.Stuck].Count != 0 {
		t.Errorf("much: %+v", s.Survey)
	}
	troubled(1)
	asked := 0
	w.told.Fail = func() error {
		if asked++; asked > 2 { // the reading of survey and reports
			return errors.New("away")
		}
		return nil
	}
	if s := w.status(20 * time.Second); s.Survey.Quarantine.Count != 1 || s.Survey.States[workflow.Stuck].Count != 2 {
		t.Errorf("not to be counted: %+v", s.Survey)
	}
}
