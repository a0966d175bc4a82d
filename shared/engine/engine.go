package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The errors for which a message has no transaction to work on. Neither is
// mended by a repeat: the message belongs into the quarantine.
var (
	// ErrUnknownTransaction is returned for a wake of a transaction without a
	// document.
	ErrUnknownTransaction = errors.New("unknown transaction")
	// ErrTooOld is returned for an operation that is older than any document is
	// kept, on a transaction without a document: it may have been done before.
	ErrTooOld = errors.New("operation is older than documents are kept")
)

// Config is what an Engine works with. All fields but Shard, Changed, PutOff and
// Recognized are required.
type Config struct {
	Definition *workflow.Definition
	Shard      shard.Number // whose transactions they are; 0 is the first
	Store      workflow.Store
	Outside    Outside
	Backends   Backends
	Sender     Sender
	Queues     map[workflow.Queue]string // names by role
	Budgets    Budgets
	Now        func() time.Time // safe for concurrent use
	// Pause waits, or returns the context's error early. See Pause.
	Pause func(ctx context.Context, d time.Duration) error
	// Random gives the runner ids and the jitter; it is safe for concurrent
	// use, such as math/rand/v2.Uint64.
	Random func() uint64
	// Changed is told of each change of a transaction's state when it is saved;
	// p is read only, and only as long as Changed runs. May be nil.
	Changed func(ctx context.Context, before workflow.State, p *workflow.Progress)
	// PutOff is told of each wake that leaves an undoing unfinished, and for how
	// long that has lasted. May be nil.
	PutOff func(ctx context.Context, undoing time.Duration)
	// Recognized is told of each operation that comes again, and is on record. May be
	// nil.
	Recognized func(ctx context.Context)
	Log        *slog.Logger
}

// Engine is the work of the Schedule, Supervise, Sweep and dead-letter functions. It is
// safe for concurrent use and keeps nothing between messages.
type Engine struct {
	Config
	longest time.Duration // of the steps' call time-outs
}

// New returns an engine, or an error that says all that is wrong with c.
func New(c Config) (*Engine, error) {
	var errs []error
	if c.Definition == nil {
		errs = append(errs, errors.New("no definition"))
	} else {
		errs = append(errs, c.Definition.Validate())
	}
	if c.Store == nil || c.Outside == nil || c.Backends == nil || c.Sender == nil || c.Now == nil || c.Pause == nil || c.Random == nil || c.Log == nil {
		errs = append(errs, errors.New("a required field is missing"))
	}
	queues := []workflow.Queue{workflow.QueueTransactions, workflow.QueueCompensations}
	if c.Budgets.Notify {
		queues = append(queues, workflow.QueueNotifications)
	}
	for _, q := range queues {
		if c.Queues[q] == "" {
			errs = append(errs, fmt.Errorf("queue %s has no name", q))
		}
	}
	errs = append(errs, c.Budgets.validate())
	r := &Engine{Config: c}
	if c.Definition != nil {
		for i := range c.Definition.Steps {
			step := &c.Definition.Steps[i]
			errs = append(errs, c.Budgets.validateCall(step.Name, r.callTimeout(step)))
		}
		r.longest = c.Definition.LongestCall(c.Budgets.CallTimeout)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	return r, nil
}

// callTimeout is how long an attempt of a step may take; nil is a step that the
// definition no longer has.
func (r *Engine) callTimeout(step *workflow.Step) time.Duration {
	if step == nil {
		return r.Budgets.CallTimeout
	}
	return cmp.Or(step.CallTimeout, r.Budgets.CallTimeout)
}

// Read returns a transaction and its ETag. NotFound if there is none. One that a newer
// version of this code wrote is an error: it is left to that version.
func (r *Engine) Read(ctx context.Context, id string) (*workflow.Progress, string, error) {
	p, etag, err := r.Store.Read(ctx, id)
	if err == nil && p.Schema > workflow.Schema {
		err = fmt.Errorf("transaction %s: its schema %d is newer than %d", id, p.Schema, workflow.Schema)
	}
	return p, etag, err
}

// Pause waits for d, or until the context ends and then returns its error.
func Pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Jitter returns a random fraction in [0,1).
func (r *Engine) Jitter() float64 { return float64(r.Random()>>11) / (1 << 53) }
