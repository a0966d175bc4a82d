package main

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/operate"
)

// Ensure that operators who ask for the status are told the step, the backend and the
// breaker when a backend is away, and no longer when it is back.
func TestOpsStatus(t *testing.T) {
	s := serveForOps(t, 1)
	breaks := func(spec string) {
		t.Helper()
		plan, err := fault.Parse(spec, 1)
		if err == nil {
			err = s.faults.Set(plan)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	breaks("backend.away@Packages=1")
	for i := range 12 {
		s.put(fmt.Sprintf("away-%d", i), 2.5)
	}
	told := s.await([]string{"! Calls to package pause: the breaker is open in 1 instance", "docs/operations.md#breaker-open", "instances: 1"}, "status")
	var status operate.Status
	if err := json.Unmarshal([]byte(s.ops(exitOK, "status", "-json")), &status); err != nil || len(status.Breakers) != 1 || status.Breakers[0].Backend != "package" {
		t.Errorf("%v: %+v\n%s", err, status, told)
	}
	t.Logf("named after %v:\n%s", status.At.Sub(status.Breakers[0].Since), told)
	breaks("none")
	s.await([]string{`"breakers":[]`}, "status", "-json")
}
