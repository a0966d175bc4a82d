package drone_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

type assignment = record.Record[drone.Assignment]

// harness is the storage and the clock of one or more services.
type harness struct {
	t           *testing.T
	cfg         drone.Config
	assignments recordtest.Memory[assignment]
	drones      recordtest.Documents

	mu   sync.Mutex
	now  time.Time
	slow time.Duration // how much the clocks of new services are behind
}

var start = time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)

func newHarness(t *testing.T, drones, zones int) *harness {
	cfg := drone.Defaults()
	cfg.Drones, cfg.Zones = drones, zones
	return &harness{t: t, cfg: cfg, now: start}
}

func (h *harness) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *harness) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

// service returns a new service: another process on the same storage.
func (h *harness) service() *drone.Service { return h.serviceOn(&h.assignments, &h.drones) }

func (h *harness) serviceOn(assignments record.Store[assignment], drones business.Documents) *drone.Service {
	h.t.Helper()
	slow := h.slow
	return drone.New(h.cfg, assignments, drone.Over(drones), func() time.Time { return h.clock().Add(-slow) })
}

// ready creates the fleet, so that what follows does not.
func (h *harness) ready() *harness {
	h.t.Helper()
	h.ensure(h.service())
	return h
}

// ensure has the service create the fleet.
func (h *harness) ensure(s *drone.Service) {
	for n := range h.cfg.Zones {
		if _, _, err := s.Drones(context.Background(), fmt.Sprintf("zone-%03d", n), ""); err != nil {
			h.t.Error(err)
		}
	}
}

func (h *harness) all() (map[string]drone.Drone, map[string]assignment) {
	h.t.Helper()
	drones, err := recordtest.All[drone.Drone](&h.drones)
	assignments, err2 := h.assignments.All()
	if err := errors.Join(err, err2); err != nil {
		h.t.Fatal(err)
	}
	return drones, assignments
}

// held returns the drones that the transaction holds, now or later.
func (h *harness) held(transactionID string) []string {
	h.t.Helper()
	drones, _ := h.all()
	var ids []string
	for _, d := range drones {
		if hold, ok := d.HoldOf(transactionID); ok && hold.Until > h.clock().UnixMilli() {
			ids = append(ids, d.ID)
		}
	}
	slices.Sort(ids)
	return ids
}

// check holds what must be true whenever nobody is at work: a live assignment
// has its drone, nobody else has one, and the journal tells it.
func (h *harness) check() {
	h.t.Helper()
	drones, assignments := h.all()
	named := map[string]bool{}
	for _, id := range slices.Sorted(maps.Keys(assignments)) {
		rec := assignments[id]
		held := h.held(id)
		balance := 0
		for i, e := range rec.Journal {
			if e.Seq != i+1 {
				h.t.Errorf("%s: the journal's seq %d is the %dth", id, e.Seq, i+1)
			}
			switch e.Change {
			case record.Created:
				balance++
			case record.Deleted:
				balance--
			}
		}
		switch {
		case rec.Live() && (len(held) != 1 || held[0] != rec.Content.DroneID || balance != 1):
			h.t.Errorf("%s: assigned %s, holds %v, journal %+v", id, rec.Content.DroneID, held, rec.Journal)
		case !rec.Live() && (len(held) != 0 || balance != 0):
			h.t.Errorf("%s: not assigned, holds %v, journal %+v", id, held, rec.Journal)
		}
		named[id] = true
	}
	for _, d := range drones {
		h.checkHolds(d, named)
	}
}

// checkHolds holds what must be true of a drone at any time.
func (h *harness) checkHolds(d drone.Drone, named map[string]bool) {
	h.t.Helper()
	until := int64(0)
	for i, hold := range d.Holds {
		if hold.Until > h.clock().UnixMilli() && !named[hold.TransactionID] {
			h.t.Errorf("%s is held by %s, which has no assignment", d.ID, hold.TransactionID)
		}
		for _, other := range d.Holds[:i] {
			if other.TransactionID != hold.TransactionID && other.From < hold.Until && hold.From < other.Until {
				h.t.Errorf("%s is held twice at a time: %+v and %+v", d.ID, other, hold)
			}
		}
		until = max(until, hold.Until)
	}
	if d.BusyUntil != until {
		h.t.Errorf("%s is busy until %d, its last hold ends at %d", d.ID, d.BusyUntil, until)
	}
}

// ask is a flight of about 22 km.
func ask() drone.Ask {
	return drone.Ask{
		Pickup: value.Location{Latitude: 47.6, Longitude: -122.3}, DropOff: value.Location{Latitude: 47.8, Longitude: -122.3},
		PackageDetail: drone.PackageDetail{ID: "p", Size: "Small", WeightKg: 2},
	}
}

func by(id string, revision int) record.By { return record.By{TransactionID: id, Revision: revision} }

func put(s *drone.Service, id string, revision int, a drone.Ask) (drone.Assignment, record.Change, error) {
	rec, change, err := s.Put(context.Background(), id, by(id, revision), a)
	return rec.Content, change, err
}

func del(s *drone.Service, id string) error {
	return s.Delete(context.Background(), id, by(id, 1))
}

// insist repeats a call as a workflow does, as long as the failure is
// transient.
func insist(t *testing.T, call func() error) error {
	t.Helper()
	for range 20 {
		err := call()
		var p *problem.Problem
		if err == nil || errors.As(err, &p) || !failure.Is(err, failure.Transient) {
			return err
		}
	}
	t.Fatal("it never succeeds")
	return nil
}

func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	got := http.StatusOK
	if err != nil {
		got = problem.From(err).Status
	}
	if got != status {
		t.Errorf("status %d (%v), want %d", got, err, status)
	}
}

// tap sees every operation on both storages, and decides what becomes of it.
// The writes are numbered from 1.
type tap struct {
	writes int
	write  func(n int, do func() error) error
}

func (p *tap) on(do func() error) error {
	p.writes++
	return p.write(p.writes, do)
}

type tappedAssignments struct {
	record.Store[assignment]
	tap *tap
}

func (s tappedAssignments) Create(ctx context.Context, id string, doc assignment) (etag string, err error) {
	err = s.tap.on(func() (err error) { etag, err = s.Store.Create(ctx, id, doc); return err })
	return etag, err
}

func (s tappedAssignments) Replace(ctx context.Context, id string, doc assignment, old string) (etag string, err error) {
	err = s.tap.on(func() (err error) { etag, err = s.Store.Replace(ctx, id, doc, old); return err })
	return etag, err
}

type tappedDrones struct {
	business.Documents
	tap *tap
}

func (s tappedDrones) Replace(ctx context.Context, zone, id string, doc []byte, old string) (etag string, err error) {
	err = s.tap.on(func() (err error) { etag, err = s.Documents.Replace(ctx, zone, id, doc, old); return err })
	return etag, err
}

// tapped returns a service whose writes go through the tap.
func (h *harness) tapped(p *tap) *drone.Service {
	return h.serviceOn(tappedAssignments{&h.assignments, p}, tappedDrones{&h.drones, p})
}

func transient(text string) error {
	return failure.New(failure.Transient, "write", "x", fmt.Errorf("injected: %s", text))
}
