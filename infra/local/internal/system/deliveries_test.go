package system_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// workload runs a planned workload and wants its counts to add up.
func (r *run) workload(seed uint64, deliveries int, during func(*workload.Tally)) {
	r.t.Helper()
	endpoints, settings := r.Endpoints(), r.AppSettings()
	services, err := workload.OpenServices(workload.Target{
		EventHubs: endpoints.EventHubs, EventHub: settings.EventHub,
		CosmosDB: endpoints.CosmosDB, Database: settings.Database,
	})
	if err != nil {
		r.t.Fatal(err)
	}
	defer services.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Minute)
	defer cancel()
	now := time.Now()
	items, err := workload.Plan(*chosentrial.Trial(), seed, fmt.Sprintf("test%d", now.UnixNano()), deliveries, now)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range items {
		// With a key a request can be repeated whatever became of the first try.
		if items[i].ID == "" && items[i].Key == "" {
			items[i].Key = items[i].Name
		}
	}
	var tally workload.Tally
	done := make(chan struct{})
	go func() {
		defer close(done)
		during(&tally)
	}()
	summary, err := workload.Run(ctx, workload.Config{
		URL: r.url(""), Resource: chosen.Business().Resource, Items: items, Concurrency: 16, Poison: services.Poison, Quarantined: services.Quarantined,
	}, &tally)
	<-done
	if err != nil {
		r.t.Fatal(err)
	}
	if r.killed { // a runner that dies leaves its steps in doubt: what is refused then is undone (ADR 28)
		summary.Faults = slices.DeleteFunc(summary.Faults, func(fault string) bool {
			return strings.Contains(fault, ": Compensated (account: ") && strings.HasSuffix(fault, ", want Rejected")
		})
	}
	if !summary.OK() {
		r.t.Errorf("%+v", summary)
	}
}

func undisturbed(*workload.Tally) {}

// deadLetters counts what is in the dead-letter sub-queues.
func (r *run) deadLetters() int {
	n := 0
	for _, q := range r.Emulators.Broker.Stats().Queues {
		n += q.DeadLettered
	}
	return n
}

func TestDeliveriesEndToEnd(t *testing.T) {
	t.Parallel()
	r := start(t, map[string]string{"FLEET_DRONES": "60", "FLIGHT_TIME_SCALE": "0.002"})
	r.workload(1, 100, undisturbed)
	if n := r.deadLetters(); n > 0 {
		t.Errorf("%d dead letters, want none", n)
	}
}

// Ensure that nothing is lost and nothing stays open when the handler is killed
// in the middle, so often that the host stops as well and is replaced.
func TestHandlerKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	// The recovery must not take until the pickups of what is changed.
	r := start(t, short, map[string]string{"FLEET_DRONES": "150", "FLIGHT_TIME_SCALE": "0.01"})
	const deliveries, kills = 100, 3
	r.killed = true
	r.workload(2, deliveries, func(tally *workload.Tally) {
		var dead int
		for n := range kills {
			// Each kill waits for more work to have come in, and for a handler.
			wanted := int64(deliveries * (n + 1) / (kills + 1))
			await(t, "work and a new handler", func() bool {
				pid := r.Instance.Host().HandlerPID()
				return tally.Accepted.Load() >= wanted && pid != 0 && pid != dead
			})
			dead = r.Instance.Host().HandlerPID()
			kill(t, dead)
		}
	})
	await(t, "the notice that the host was replaced", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return strings.Contains(strings.Join(r.notices, "\n"), "a new one takes its place")
	})
	if n := r.deadLetters(); n > 0 {
		t.Errorf("%d dead letters, want none", n)
	}
}

func kill(t *testing.T, pid int) {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Errorf("kill %d: %v", pid, err)
	}
}

func await(t testing.TB, what string, ok func() bool) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Errorf("waited in vain for %s", what)
			return
		}
	}
}

// Ensure that messages with new intentions are never taken for duplicates: two
// reschedules and a later wake of one transaction, all well inside the queue's
// duplicate window, all act.
func TestReschedulesAndLaterWakeInsideDuplicateWindow(t *testing.T) {
	t.Parallel()
	r := start(t, short, map[string]string{"FLEET_DRONES": "1", "FLEET_ZONES": "1", "FLIGHT_TIME_SCALE": "0.01"})
	if w := r.AppSettings().Budgets.DuplicateWindow; w < time.Minute {
		t.Fatalf("the duplicate window is %v: too short for this test to show anything", w)
	}
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/first", request("p-first", time.Now()))
	r.await("first", "Completed", func(p progress) bool { return p.State == "Completed" })

	// The only drone is in the air now, so the second delivery waits for it.
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/second", request("p-second", time.Now()))
	r.await("second", "waiting for a drone", func(p progress) bool {
		return len(p.Steps) > 3 && p.Steps[3].State == "Pending" && p.Steps[1].State == "Succeeded"
	})
	operations := []string{}
	for _, latitude := range []string{"47.63", "47.64"} {
		a := r.want(http.StatusAccepted, http.MethodPatch, "/api/deliveryrequests/second",
			`{"dropOff":{"latitude":`+latitude+`,"longitude":-122.32}}`)
		id := decode[struct{ OperationID string }](t, a).OperationID
		// Two at once may change places on the way; then the newer one counts.
		r.await("second", "aware of the reschedule", func(p progress) bool { return p.operation(id) != "" })
		operations = append(operations, id)
	}
	p := r.await("second", "Completed with both reschedules", func(p progress) bool {
		return p.State == "Completed" && p.operation(operations[0]) == "Applied" && p.operation(operations[1]) == "Applied"
	})
	if p.Revision != 3 {
		t.Errorf("revision %d, want 3", p.Revision)
	}
	delivery := decode[struct{ DropOff struct{ Latitude float64 } }](t,
		r.want(http.StatusOK, http.MethodGet, "/api/deliveries/second", ""))
	if delivery.DropOff.Latitude != 47.64 {
		t.Errorf("the delivery goes to latitude %v, want that of the second reschedule", delivery.DropOff.Latitude)
	}
}

// Ensure that a cancelled delivery leaves nothing behind at the backends.
func TestCancelUndoesEverything(t *testing.T) {
	t.Parallel()
	r := start(t, short)
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/gone", request("p-gone", later()))
	r.await("gone", "Completed", func(p progress) bool { return p.State == "Completed" })
	r.want(http.StatusOK, http.MethodGet, "/api/dronedeliveries/gone", "")

	location := r.want(http.StatusAccepted, http.MethodDelete, "/api/deliveryrequests/gone", "").Header.Get("Location")
	r.await("gone", "Cancelled", func(p progress) bool { return p.State == "Cancelled" })
	operation := decode[struct{ Kind, State string }](t, r.want(http.StatusOK, http.MethodGet, location, ""))
	if operation.Kind != "cancel" || operation.State != "Applied" {
		t.Errorf("operation: %+v", operation)
	}
	for _, path := range []string{"/api/packages/p-gone", "/api/dronedeliveries/gone", "/api/deliveries/gone", "/api/thirdpartydeliveries/gone"} {
		if a := r.call(http.MethodGet, path, ""); a.Status != http.StatusNotFound && a.Status != http.StatusGone {
			t.Errorf("%s is still there: %d %s", path, a.Status, a.Body)
		}
	}
	r.want(http.StatusConflict, http.MethodPatch, "/api/deliveryrequests/gone", `{"dropOff":{"latitude":1,"longitude":1}}`)
}

func TestEveryFunctionIsServed(t *testing.T) {
	r := start(t)
	names := map[string]host.FunctionInfo{}
	for _, f := range r.Instance.Host().Functions() {
		names[f.Name] = f
	}
	for _, want := range []string{"Ingest", "Progress", "Relay", "Schedule", "Supervise", "DeadLetterTransactions",
		"DeadLetterCompensations", "Sweep", "Accounts", "Packages", "ThirdPartyDeliveries", "DroneDeliveries",
		"Drones", "Deliveries", "Page", "Live", "Ready"} {
		if _, ok := names[want]; !ok {
			t.Errorf("function %s is not served", want)
		}
	}
	r.want(http.StatusOK, http.MethodGet, "/api/live", "")
	r.want(http.StatusOK, http.MethodGet, "/api/ready", "")
	r.want(http.StatusNotFound, http.MethodGet, "/api/deliveryrequests/nobody-knows-this", "")
}
