package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/drill"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// Ensure that a drill finds in a system that is served what its table says: the backend is
// named, and no longer when it is back, with the drill's own requests.
func TestDrillOfAServedSystem(t *testing.T) {
	s := serveForOps(t, 1)
	at, err := placeOf(chosen.Business(), "")
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	r, err := drillAt(t.Context(), s.system.Endpoints(), at, "backend-down", drill.Options{Say: func(format string, args ...any) {
		said = append(said, format)
		t.Logf(format, args...)
	}})
	if err != nil || r.Sent == 0 || r.Refused != 0 || !strings.HasSuffix(r.Says.Key, ".package") || !strings.Contains(r.Says.Says, "package") {
		t.Errorf("%v: %+v", err, r)
	}
	if len(said) < 4 || !s.faults.Plan().Empty() {
		t.Errorf("said %q, plan %+v", said, s.faults.Plan())
	}
	if _, err := drillAt(t.Context(), s.system.Endpoints(), at, "shard-away", drill.Options{Say: t.Logf}); err == nil || !strings.Contains(err.Error(), "needs serve -shards 2") {
		t.Errorf("a shard that isn't there: %v", err)
	}
}

// Ensure that drill alone lists all drills, with what they need.
func TestDrillsAreListed(t *testing.T) {
	var out, errOut bytes.Buffer
	if exit := run(t.Context(), console{args: []string{"drill"}, out: &out, errOut: &errOut}); exit != exitOK {
		t.Fatalf("exit %d: %s", exit, errOut.String())
	}
	for _, d := range drill.Drills(drill.Place{}, time.Now()) {
		if !strings.Contains(out.String(), d.Name+" ") || !strings.Contains(out.String(), d.Needs) {
			t.Errorf("no %s in\n%s", d.Name, out.String())
		}
	}
}
