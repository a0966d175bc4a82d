package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// System is what is drilled. Send is called beside the others.
type System interface {
	Plan(ctx context.Context) (fault.Plan, error)
	Break(ctx context.Context, p fault.Plan) error
	// Send asks for something that ends so, when nothing goes wrong.
	Send(ctx context.Context, end workflow.State) error
	// Poison puts a message into the hub that nobody can read.
	Poison(ctx context.Context) error
	// Unusual is what the status names.
	Unusual(ctx context.Context) ([]operate.Unusual, error)
	// Act does for an operator what one decides about what has come since then.
	Act(ctx context.Context, act string, since time.Time) error
	// Waiting are open transactions, in part if there are many.
	Waiting(ctx context.Context) ([]operate.Summary, error)
}

// Options say how a drill is carried out.
type Options struct {
	// Ready waits for the operator to say that the cause is found; nil waits for nobody, and
	// has the operator's act done, too.
	Ready func(context.Context) error
	Say   func(format string, args ...any)
}

// Result is what a drill has shown.
type Result struct {
	Drill string          `json:"drill"`
	Says  operate.Unusual `json:"says"` // what named the cause
	// Named is in how many seconds the status named it, Gone in how many seconds after
	// the faults were lifted it no longer did.
	Named   float64 `json:"namedSeconds"`
	Gone    float64 `json:"goneSeconds"`
	Sent    int     `json:"sent"`
	Refused int     `json:"refused"`
	Waiting int     `json:"waiting"` // of the drill and others, open at the end
}

const look = time.Second // between two looks at the status

// Run carries out a drill. Whatever happens, no fault is in force afterwards. It refuses a
// system that has faults, or whose status names already what the drill would have it name.
func Run(ctx context.Context, s System, d Drill, o Options) (Result, error) {
	r := &run{System: s, Options: o, d: d, began: time.Now(), result: Result{Drill: d.Name}}
	if err := r.check(ctx); err != nil {
		return r.result, fmt.Errorf("drill %s: %w", d.Name, err)
	}
	err := r.trouble(ctx)
	// Also after an interrupt.
	if lifted := s.Break(context.WithoutCancel(ctx), fault.Plan{}); lifted != nil {
		err = errors.Join(err, fmt.Errorf("the faults are still in force: %w", lifted))
	}
	return r.result, err
}

// run is a drill that is under way.
type run struct {
	System
	Options
	d      Drill
	began  time.Time
	result Result
}

func (r *run) check(ctx context.Context) error {
	before, err := r.Plan(ctx)
	if err != nil {
		return err
	}
	if !before.Empty() {
		return errors.New("faults are in force already, so nobody could tell whose trouble it is: end them first")
	}
	u, err := r.named(ctx)
	if err == nil && u != nil {
		err = fmt.Errorf("the status says already: %s Mend that first", u.Says)
	}
	return err
}

// trouble breaks the system, has clients use it, and follows the status.
func (r *run) trouble(ctx context.Context) error {
	r.Say("%s: %s.", r.d.Name, r.d.Trouble)
	if err := r.Break(ctx, r.d.Plan); err != nil {
		return err
	}
	for range r.d.Poison {
		if err := r.Poison(ctx); err != nil {
			return err
		}
	}
	loading, stop := context.WithCancel(ctx)
	var sending sync.WaitGroup
	defer sending.Wait()
	defer stop()
	sending.Go(func() { r.load(loading) })
	return r.follow(ctx)
}

// load sends what clients ask for until ctx ends. What is refused meanwhile is counted: it
// may be part of the trouble.
func (r *run) load(ctx context.Context) {
	l := r.d.Load
	if l.End == "" {
		return
	}
	tick := time.NewTicker(l.Every)
	defer tick.Stop()
	for n := 0; l.Most == 0 || n < l.Most; n++ {
		err := r.Send(ctx, l.End)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			r.result.Refused++
		default:
			r.result.Sent++
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// follow looks at the status until it names the cause, has it mended, and looks until it
// no longer does.
func (r *run) follow(ctx context.Context) error {
	u, took, err := r.await(ctx, r.began, true)
	if err != nil {
		return err
	}
	r.result.Says, r.result.Named = *u, took.Seconds()
	r.Say("named after %.0f s:\n  %s\n  %s See docs/operations.md#%s\nwhere: %s", took.Seconds(), u.Says, u.Do, u.About, r.d.Look)
	if r.Ready != nil {
		r.Say("Press Enter when you have found it; then %s.", r.d.Mend)
		if err := r.Ready(ctx); err != nil {
			return err
		}
	}
	if err := r.Break(ctx, fault.Plan{}); err != nil {
		return err
	}
	lifted := time.Now()
	r.Say("mended: %s.", r.d.Mend)
	switch {
	case r.d.Act == "":
	case r.Ready == nil:
		if err := r.Act(ctx, r.d.Act, r.began); err != nil {
			return err
		}
		r.Say("done in your place: %s.", r.d.Act)
	default:
		r.Say("Now decide about what waits for you: %s.", r.d.Act)
	}
	if _, took, err = r.await(ctx, lifted, false); err != nil {
		return err
	}
	r.result.Gone = took.Seconds()
	waiting, err := r.Waiting(ctx)
	if err != nil {
		return err
	}
	r.result.Waiting = len(waiting)
	r.Say("no longer named after %.0f s; open: %d", took.Seconds(), len(waiting))
	for _, t := range waiting[:min(len(waiting), 3)] {
		if t.WakeAt.IsZero() {
			r.Say("  %s is %s and waits for an operator", t.ID, t.State)
			continue
		}
		r.Say("  %s is %s and goes on at %s", t.ID, t.State, t.WakeAt)
	}
	return nil
}

// await looks at the status until it names the cause, or doesn't. While people decide, only
// they end it; otherwise it may take as long as the drill says.
func (r *run) await(ctx context.Context, from time.Time, want bool) (*operate.Unusual, time.Duration, error) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		u, err := r.named(ctx)
		took := time.Since(from)
		switch {
		case err == nil && (u != nil) == want:
			return u, took, nil
		case took > within && (want || r.Ready == nil || r.d.Act == ""):
			verb := map[bool]string{true: "does not name", false: "still names"}[want]
			return nil, took, errors.Join(fmt.Errorf("drill %s: after %v the status %s the cause (%s)", r.d.Name, within, verb, strings.Join(r.d.Keys, ", ")), err)
		}
		select {
		case <-ctx.Done():
			return nil, took, ctx.Err()
		case <-tick.C:
		}
	}
}

// named returns what names the cause, nil if nothing does.
func (r *run) named(ctx context.Context) (*operate.Unusual, error) {
	all, err := r.Unusual(ctx)
	if i := slices.IndexFunc(all, func(u operate.Unusual) bool { return r.d.names(u.Key) }); err == nil && i >= 0 {
		return &all[i], nil
	}
	return nil, err
}

func (d Drill) names(key string) bool {
	return slices.ContainsFunc(d.Keys, func(k string) bool { return k == key || strings.HasSuffix(k, ".") && strings.HasPrefix(key, k) })
}
