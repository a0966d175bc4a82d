package drone_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

// count has the harness count its operations on both storages.
func (h *harness) count() *recordtest.Script {
	seen := &recordtest.Script{}
	h.assignments.Before, h.drones.Memory.Before = seen.Before, seen.Before
	return seen
}

// Ensure a first PUT costs three writes and no read: of a page that is there already.
func TestAFirstPutReadsNothing(t *testing.T) {
	h := newHarness(t, 1000, 1).ready()
	s := h.service()
	_, _, err := put(s, "t0", 1, ask())
	wantStatus(t, err, 200)
	seen := h.count()
	for i := 1; i < 9; i++ {
		_, _, err := put(s, fmt.Sprintf("t%d", i), 1, ask())
		wantStatus(t, err, 200)
	}
	for op, want := range map[recordtest.Op]int{recordtest.Read: 0, recordtest.Create: 8, recordtest.Replace: 16} {
		if got := seen.Seen(op); got != want {
			t.Errorf("%d times %s, want %d", got, op, want)
		}
	}
	// Where a page begins near the zone's end it is small, and there is one more.
	if got := seen.Seen(recordtest.Page); got > 4 {
		t.Errorf("%d pages", got)
	}
	h.check()
}

// together lets the claims of so many transactions begin only when all are about to.
type together struct {
	business.Documents
	all sync.WaitGroup
}

func (d *together) Replace(ctx context.Context, zone, id string, doc []byte, etag string) (string, error) {
	d.all.Done()
	d.all.Wait()
	return d.Documents.Replace(ctx, zone, id, doc, etag)
}

// Ensure a drone is handed out once, also where later pages still show it free: of many
// transactions that run side by side none gets in another's way.
func TestADroneIsHandedOutOnce(t *testing.T) {
	const many = 24
	h := newHarness(t, many, 3).ready()
	claims := &together{Documents: &h.drones}
	claims.all.Add(many) // one more panics
	s := h.serviceOn(&h.assignments, claims)
	var wg sync.WaitGroup
	for i := range many {
		wg.Go(func() {
			_, _, err := put(s, fmt.Sprintf("t%d", i), 1, ask())
			wantStatus(t, err, 200)
		})
	}
	wg.Wait()
	h.check()
}

// Ensure two drones that another instance was quicker at are enough to ask anew.
func TestAStalePageIsAskedForAnew(t *testing.T) {
	const many = 120
	h := newHarness(t, many, 1).ready()
	two, ones := h.service(), []*drone.Service{h.service(), h.service(), h.service()}
	for i, one := range ones { // a page for each
		_, _, err := put(one, fmt.Sprintf("first-%d", i), 1, ask())
		wantStatus(t, err, 200)
	}
	for i := range many - 2*len(ones) {
		_, _, err := put(two, fmt.Sprintf("t%d", i), 1, ask())
		wantStatus(t, err, 200)
	}
	for i, one := range ones {
		seen := h.count()
		_, _, err := put(one, fmt.Sprintf("last-%d", i), 1, ask())
		wantStatus(t, err, 200)
		// Two claims are lost, and another intent is written after each; then a claim and
		// the confirmation.
		if writes := seen.Seen(recordtest.Replace); writes > 2+2+1+1 {
			t.Errorf("%d writes", writes)
		}
	}
	h.check()
	_, _, err := put(two, "one more", 1, ask())
	wantStatus(t, err, 429)
}

// Ensure an undo does not rely on the ETag of the page that its PUT had: a claim that is
// late fails, whether the drone has changed since the page was read or not.
func TestUndoAgainstACachedETag(t *testing.T) {
	for name, meanwhile := range map[string]func(h *harness){
		"as it was read": func(*harness) {},
		"taken, and free again": func(h *harness) {
			s := h.service()
			for i := range 3 {
				_, _, err := put(s, fmt.Sprintf("other-%d", i), 1, ask())
				wantStatus(t, err, 200)
			}
			for i := range 3 {
				wantStatus(t, del(s, fmt.Sprintf("other-%d", i)), 200)
			}
		},
	} {
		for n := 1; n <= 3; n++ { // the intent, the claim, the confirmation
			t.Run(fmt.Sprintf("%s, write %d", name, n), func(t *testing.T) {
				h := newHarness(t, 4, 1).ready()
				var late func() error
				p := &tap{write: func(_ int, do func() error) error { return do() }}
				s := h.tapped(p)
				_, _, err := put(s, "first", 1, ask()) // it keeps the page
				wantStatus(t, err, 200)
				meanwhile(h)
				p.writes, p.write = 0, func(i int, do func() error) error {
					if i == n {
						late = do
						return transient("late")
					}
					return do()
				}
				_, _, err = put(s, "t", 1, ask())
				wantStatus(t, err, 503)
				p.write = func(_ int, do func() error) error { return do() }
				wantStatus(t, del(s, "t"), 200)
				if err := late(); err == nil {
					t.Error("the late write landed")
				}
				h.check()
			})
		}
	}
}

// Ensure that an exhausted fleet is searched once in a while, that a drone which is
// given back is found, and that a repeat has its own.
func TestTheFleetIsExhausted(t *testing.T) {
	h := newHarness(t, 4, 2).ready()
	s := h.service()
	for i := range 4 {
		_, _, err := put(s, fmt.Sprintf("t%d", i), 1, ask())
		wantStatus(t, err, 200)
	}
	seen := h.count()
	_, _, err := put(s, "late", 1, ask())
	wantStatus(t, err, 429)
	// A page and its continuation for each zone, from anywhere and from its
	// beginning; and the whole zone, for the next that is free.
	looked := seen.Seen(recordtest.Page)
	if looked > 2*2*2+2 {
		t.Errorf("%d pages", looked)
	}
	// Who comes while that is looked for looks as well; who comes after it does not.
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			_, _, err := put(s, fmt.Sprintf("late-%d", i), 1, ask())
			wantStatus(t, err, 429)
		})
	}
	wg.Wait()
	if got := seen.Seen(recordtest.Page); got != looked {
		t.Errorf("%d pages for those who came later", got-looked)
	}
	again, change, err := put(s, "t1", 1, ask())
	if err != nil || change != "" || fmt.Sprint(h.held("t1")) != "["+again.DroneID+"]" {
		t.Errorf("a repeat got %+v, %q, %v", again, change, err)
	}
	wantStatus(t, del(s, "t1"), 200)
	got, _, err := put(s, "late-1", 1, ask())
	if err != nil || got.DroneID != again.DroneID {
		t.Errorf("got %+v, %v; %s is free", got, err, again.DroneID)
	}
	h.check()
}
