package host

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// burst puts a burst in force that is under way.
func (b *backend) burst(t *testing.T, point fault.Point, scope string) {
	t.Helper()
	all := []fault.Burst{{Point: point, Scope: scope, From: time.Now().Add(-time.Second), Seconds: 600, Rate: 1}}
	if err := b.faults.Set(fault.Plan{Seed: 1, Bursts: all}); err != nil {
		t.Fatal(err)
	}
}

// Ensure that what the platform answers for an app can't be taken for the
// backend's own word, and reaches no handler.
func TestABackendIsAway(t *testing.T) {
	b := startBackend(t)
	for point, want := range map[fault.Point]int{fault.BackendForbidden: http.StatusForbidden, fault.BackendNotFound: http.StatusNotFound} {
		b.burst(t, point, "Packages")
		status, body := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx")
		if status != want || !strings.HasPrefix(body, "text/html <!DOCTYPE html>") {
			t.Errorf("%s: status %d, %s", point, status, body)
		}
	}
	b.burst(t, fault.BackendAway, "Packages")
	answers := map[int]int{}
	for range 6 {
		status, _ := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx")
		answers[status]++
	}
	if answers[0] != 3 || answers[http.StatusServiceUnavailable] != 3 {
		t.Errorf("answers %v, want half of them cut", answers)
	}
	b.wantNext(t)
	b.burst(t, fault.BackendAway, "Drones")
	if status, _ := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx"); status != http.StatusNoContent {
		t.Errorf("another backend is away: status %d", status)
	}
}

// Ensure that an owner that insists claims nothing, sees its partitions as its
// own, and learns the truth afterwards.
func TestAnOwnerInsists(t *testing.T) {
	store := &granting{grant: map[string]bool{"0": true}}
	o := newOwnerships(store)
	mine := []azeventhubs.Ownership{ownership("0", "a"), ownership("1", "a")}
	if got, err := o.ClaimOwnership(t.Context(), mine, nil); err != nil || len(got) != 1 {
		t.Fatalf("claimed %v, %v", got, err)
	}
	store.grant = nil // another has taken all
	if n := o.insistUntil(time.Now().Add(time.Hour)); n != 1 {
		t.Errorf("it insists on %d partitions", n)
	}
	if got, err := o.ClaimOwnership(t.Context(), mine, nil); err != nil || len(got) != 1 || got[0].PartitionID != "0" {
		t.Errorf("it holds %v, %v", got, err)
	}
	store.listed = []azeventhubs.Ownership{ownership("0", "b"), ownership("1", "b")}
	all, err := o.ListOwnership(t.Context(), "", "", "", nil)
	if err != nil || all[0].OwnerID != "a" || time.Since(all[0].LastModifiedTime) > time.Minute || all[1].OwnerID != "b" {
		t.Errorf("it sees %+v, %v", all, err)
	}
	o.insistUntil(time.Now().Add(-time.Second))
	if got, err := o.ClaimOwnership(t.Context(), mine, nil); err != nil || len(got) != 0 {
		t.Errorf("afterwards it holds %v, %v", got, err)
	}
}
