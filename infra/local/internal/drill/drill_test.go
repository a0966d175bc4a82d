package drill

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/operate"
)

// named returns the drill of that name.
func named(t *testing.T, name string) Drill {
	t.Helper()
	all := Drills(place, time.Now())
	i := slices.IndexFunc(all, func(d Drill) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("there is no drill %q", name)
	}
	return all[i]
}

// Each drill is named by the status of the product within 10 seconds, and no longer 30
// seconds after its end, also when it has lasted for so long that Sweep has told of it.
// docs/operations.md has each drill, and the paragraph about it.
func TestDrills(t *testing.T) {
	docs, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range Drills(place, time.Now()) {
		t.Run(d.Name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				d := named(t, d.Name) // of the test's clock
				var said []string
				o := Options{Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
				lasting := o
				lasting.Ready = func(ctx context.Context) error {
					time.Sleep(3*time.Minute + 7*time.Second)
					time.AfterFunc(time.Millisecond, func() { _ = w.Act(ctx, d.Act, time.Time{}) })
					return nil
				}
				if r, err := Run(t.Context(), w, d, lasting); err != nil || r.Named > 10 || r.Gone > 30 {
					t.Errorf("after minutes: %v, named after %.0f s, gone after %.0f s", err, r.Named, r.Gone)
				}
				w.mu.Lock()
				w.acts, said = nil, nil
				w.mu.Unlock()
				r, err := Run(t.Context(), w, d, o)
				if err != nil {
					t.Fatal(err)
				}
				t.Logf("named after %.0f s, gone after %.0f s", r.Named, r.Gone)
				if r.Named > 10 || r.Gone > 30 {
					t.Errorf("named after %.0f s, gone after %.0f s; want 10 s, 30 s", r.Named, r.Gone)
				}
				if !d.names(r.Says.Key) || !w.faults.Plan().Empty() || d.Act != strings.Join(w.acts, " ") {
					t.Errorf("%+v; acts %v, plan %+v", r, w.acts, w.faults.Plan())
				}
				if !strings.Contains(strings.Join(said, "\n"), r.Says.Says) {
					t.Errorf("said %q", said)
				}
				for _, want := range []string{"\n| `" + d.Name + "` |", "\n### " + r.Says.About + "\n"} {
					if !strings.Contains(string(docs), want) {
						t.Errorf("docs/operations.md has no %q", want)
					}
				}
				waiting, _ := w.Waiting(t.Context())
				if strings.HasPrefix(d.Name, "backend-") && (len(waiting) == 0 || r.Waiting == 0) {
					t.Errorf("%d wait, and the drill tells of %d", len(waiting), r.Waiting)
				}
				for _, s := range waiting {
					if s.WakeAt.IsZero() {
						t.Errorf("%s waits, and nobody knows until when", s.ID)
					}
				}
			})
		})
	}
}

// The operator's part waits for the operator, and what one finds is told.
func TestOperatorActs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		d, ready := named(t, "undo-refused"), 0
		r, err := Run(t.Context(), w, d, Options{Say: t.Logf, Ready: func(ctx context.Context) error {
			ready++
			time.Sleep(time.Hour)
			if w.faults.Plan().Empty() || len(w.acts) != 0 {
				t.Error("it was mended before the operator was ready")
			}
			time.AfterFunc(time.Hour, func() { _ = w.Act(ctx, operate.ActRetry, time.Time{}) })
			return nil
		}})
		if err != nil || ready != 1 || r.Gone < 3600 || r.Gone > 3700 || r.Sent != 3 {
			t.Errorf("%v: %+v, asked %d times", err, r, ready)
		}
	})
}

// A drill that can't be judged is refused, one that doesn't go as the table says is an
// error, and no fault outlives it.
func TestDrillsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		drill  string
		before func(*testing.T, *world)
		change func(*Drill, *Options)
		want   string
	}{
		"faults before": {drill: "backend-down", before: func(t *testing.T, w *world) {
			if err := w.faults.Set(fault.Plan{Seed: 1, Rates: map[fault.Point]float64{fault.CosmosSlow: 0.1}}); err != nil {
				t.Fatal(err)
			}
		}, want: "faults are in force already"},
		"named before": {drill: "poison", before: func(t *testing.T, w *world) {
			_ = w.Poison(t.Context())
			time.Sleep(2 * time.Minute)
		}, want: "the status says already: Waiting for a decision in quarantine"},
		"never named":   {drill: "backend-slow", change: func(d *Drill, _ *Options) { d.Keys = []string{"breaker.cars"} }, want: "after 1m0s the status does not name the cause (breaker.cars)"},
		"never mended":  {drill: "backend-down", before: func(_ *testing.T, w *world) { w.never = true }, want: "after 1m0s the status still names the cause"},
		"no such act":   {drill: "poison", change: func(d *Drill, _ *Options) { d.Act = "pray" }, want: "no such act"},
		"nobody there":  {drill: "backend-down", change: func(_ *Drill, o *Options) { o.Ready = func(context.Context) error { return errors.New("nobody") } }, want: "nobody"},
		"not a backend": {drill: "backend-down", change: func(d *Drill, _ *Options) { d.Plan.Rates = map[fault.Point]float64{"gremlins": 1} }, want: `there is no fault "gremlins"`},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				if c.before != nil {
					c.before(t, w)
				}
				before := w.faults.Plan()
				d, o := named(t, c.drill), Options{Say: t.Logf}
				if c.change != nil {
					c.change(&d, &o)
				}
				if _, err := Run(t.Context(), w, d, o); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
				if after := w.faults.Plan(); !w.never && len(after.Rates) != len(before.Rates) {
					t.Errorf("faults in force: %+v", after)
				}
			})
		})
	}
}
