package ops

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Ensure that a shard's figures are those of its own app, and that there are none of one that is away.
func TestWriteShards(t *testing.T) {
	m := shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"})
	m.Version, m.Pins = 3, map[string]shard.Number{"ann": 2, "bob": 2}
	for _, name := range []string{"b", "c"} {
		m.Shards = append(m.Shards, shard.Shard{Number: shard.Number(len(m.Shards) + 1), Name: name, Weight: 7, State: shard.Open, Endpoints: shard.Endpoints{Hub: "h-" + name, Database: "d-" + name}})
	}
	busy := operate.Status{
		At: noon, Ends: map[workflow.State]float64{workflow.Completed: 2.5, workflow.Rejected: 0.25},
		Survey: operate.Survey{
			At: noon,
			States: map[workflow.State]operate.Count{
				workflow.Running: {Count: 5, OldestAt: noon}, workflow.Compensating: {Count: 2, More: true}, workflow.Stuck: {Count: 1, OldestAt: noon},
			},
			Partitions: []operate.Lag{{Lag: 10}, {Lag: 3}}, Queues: []operate.QueueCount{{Active: 1, Scheduled: 2, Dead: 4}},
		},
	}
	var b strings.Builder
	err := WriteShards(&b, operate.ShardsView{Map: m, ReadAt: noon, RefreshSeconds: 10}, []Of[operate.Status]{{1, busy}, {3, operate.Status{At: noon}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `SHARD  NAME   STATE  WEIGHT  PINS  OPEN         STUCK  BACKLOG  ENDS/S  HUB       DATABASE  APP
1      first  open   100     0     more than 7  1      20       2.8     requests  fabrikam  -
2      b      open   7       2     -            -      -        -       h-b       d-b       -
3      c      open   7       0     -            -      -        0.0     h-c       d-c       -
version 3, read 2026-05-04 12:00:00Z; an instance's map is up to 10 s old while its store answers
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := figures(operate.Status{}); got[0] != "-" || got[3] != "-" {
		t.Errorf("of nobody: %v", got)
	}
}
