package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestWriteStatus(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	s := operate.Status{
		At: at, Accepting: operate.Accepting{PerSecond: 12.34, Room: 10},
		Unusual: []operate.Unusual{
			{Says: "Calls to \x1b[2Jhotels pause.", Do: "Mend hotels.", About: "breaker-open", Since: at, Urgent: true},
			{Says: "A step fails.", Do: "Look.", About: "breaker-open", Since: at},
		},
		Steps:    []operate.StepFlow{{Step: "hotel", Backend: "hotels", PerSecond: 2, FailedPerSecond: 1, Error: "timeout"}},
		Breakers: []operate.Breaker{{Backend: "hotels"}},
		Survey: operate.Survey{
			Partitions: []operate.Lag{{Lag: 3}, {Lag: 4}}, Queues: []operate.QueueCount{{Queue: "q", Active: 1, Scheduled: 2, Dead: 3}},
			States: map[workflow.State]operate.Count{workflow.Stuck: {Count: 100, More: true, OldestAt: at}},
		},
	}
	var out strings.Builder
	if err := WriteStatus(&out, []Of[operate.Status]{{2, s}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"shard 2, 2026-05-04 10:00:00Z", "! Calls to [2Jhotels pause. Since 2026-05-04 10:00:00Z.\n  Mend hotels. See docs/operations.md#breaker-open\n- A step fails.",
		"accepting    12.3/s", "7 events behind in 2 partitions", "q: 1 active, 2 scheduled, 3 dead",
		"hotel at hotels: 0 in flight, 2.0/s, failed 1.0/s (timeout), breaker open", "Stuck        more than 100, the oldest accepted 2026-05-04T10:00:00Z",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("without %q:\n%s", want, &out)
		}
	}
	out.Reset()
	if err := WriteStatus(&out, []Of[operate.Status]{{0, operate.Status{}}}); err != nil || !strings.Contains(out.String(), "all is well") {
		t.Errorf("%v, %s", err, &out)
	}
}
