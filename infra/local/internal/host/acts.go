package host

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
)

// KillHandler kills the handler as something outside of the host would: with
// SIGKILL, and as a crash to the restart policy. It returns false when there is
// no handler, or when none has ever been ready.
func (h *Host) KillHandler() bool {
	select {
	case <-h.ready:
		return h.sup.Kill()
	default:
		return false
	}
}

// FreezeHandler stops the handler's process, and lets it go on when ctx ends: as
// a machine does that is starved of time, or a debugger. What it was asked stays
// without an answer meanwhile, and what it has taken runs out. It returns false
// when there is no handler.
func (h *Host) FreezeHandler(ctx context.Context) (bool, error) {
	select {
	case <-h.ready:
		return h.sup.Freeze(ctx)
	default:
		return false, nil
	}
}

// KeepPartitions has the host go on with the partitions of Event Hubs that it
// owns, until then, without telling the others, who take them over: so each has
// two owners, as after a pause of one that does not know of it. It returns how
// many those are.
func (h *Host) KeepPartitions(until time.Time) int {
	kept := 0
	for _, t := range h.triggers {
		if l, ok := t.(*eventHub); ok {
			if owned := l.owned.Load(); owned != nil {
				kept += owned.insistUntil(until)
			}
		}
	}
	return kept
}

// ErrNothingToRepeat is returned where no function repeats batches of events.
var ErrNothingToRepeat = errors.New("no Event Hubs function has a retry policy")

// AwaitRetry prepares the sharp edge of the Event Hubs trigger: that a host
// which stops while a retry policy repeats a batch takes the last failure for
// the end, checkpoints the batch, and so passes over its events. It returns when
// a batch is being repeated. For patience it waits for one that the handler has
// failed at; then the next one is made to be repeated, by attempts that fail without
// a call of the handler. After that, the end of Run's context has every batch that is
// being repeated checkpointed.
//
// The caller ends Run's context then. If ctx ends before a batch is repeated,
// its error is returned and everything is as before.
func (h *Host) AwaitRetry(ctx context.Context, patience time.Duration) error {
	if !slices.ContainsFunc(h.app.Functions, repeatsBatches) {
		return ErrNothingToRepeat
	}
	return h.repeats.await(ctx, patience)
}

func repeatsBatches(f config.Function) bool {
	return f.Trigger.Kind == config.EventHub && f.Retry != nil
}

// LosePartitions has the partitions of Event Hubs that this host owns go to
// other owners, who do nothing with them, and returns how many. The host
// notices with its next look at the ownerships, and gets them back when those of
// the others have expired; meanwhile what it works on goes on, and comes again.
func (h *Host) LosePartitions(ctx context.Context) (int, error) {
	var lost int
	var errs []error
	for _, t := range h.triggers {
		l, ok := t.(*eventHub)
		if !ok {
			continue
		}
		owned := l.owned.Load()
		if owned == nil {
			continue
		}
		n, err := owned.lose(ctx)
		lost += n
		if err != nil {
			errs = append(errs, fmt.Errorf("lose the partitions of %s: %w", l.fn.Trigger.Entity(), err))
		}
	}
	return lost, errors.Join(errs...)
}
