package main

import (
	"net/http"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/operate"
)

// Ensure that Ready tells degraded from well while something that can't wait is
// unusual, and that what can wait doesn't count.
func TestReadyWhileSomethingIsUnusual(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		report operate.Report
		want   customhandler.State
		check  string
	}{
		{operate.Report{}, customhandler.Ready, "ok"}, // Sweep has not looked yet
		{operate.Report{SignInsRefused: 100}, customhandler.Ready, "ok"},
		{operate.Report{Breakers: map[string]time.Time{"drone": w.now()}}, customhandler.Degraded, "failed"},
		{operate.Report{}, customhandler.Ready, "ok"},
	} {
		w.ahead.Add(int64(customhandler.ChecksHold + time.Second))
		tc.report.Instance, tc.report.At = "another", w.now()
		if err := w.ports.told.Report(t.Context(), tc.report); err != nil {
			t.Fatal(err)
		}
		resp, data := w.call(http.MethodGet, "/api/ready", "")
		var got struct {
			Status customhandler.State
			Checks map[string]string
		}
		decode(t, data, &got)
		if resp.StatusCode != http.StatusOK || got.Status != tc.want || got.Checks["status"] != tc.check {
			t.Errorf("%+v: %d %s, want %s", tc.report, resp.StatusCode, data, tc.want)
		}
	}
}

// Ensure that refused sign-ins are in the instance's report, and other refusals aren't.
func TestRefusedSignInsAreTold(t *testing.T) {
	e := newEntraWorld(t)
	rate := func(status int, roles ...string) float64 {
		t.Helper()
		e.as("ada", roles...)
		for range 3 { // the instance may have reported in between
			e.app.report.Take()
			e.refused(status, http.MethodGet, "/api/operations/transactions?state=none", "")
			if rate := e.app.report.Take().SignInsRefused; rate > 0 {
				return rate
			}
		}
		return 0
	}
	if rate(http.StatusForbidden, "Client") == 0 {
		t.Error("a caller without the role is not told of")
	}
	if rate(http.StatusBadRequest, "Operator") != 0 {
		t.Error("a bad request is")
	}
}
