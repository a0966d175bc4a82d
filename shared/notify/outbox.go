package notify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// How a write is repeated: what was delivered has to be recorded, also when the
// invocation's time is up by then.
const (
	writeTimeout = 15 * time.Second
	writeTries   = 8
	writePause   = 100 * time.Millisecond // the first, doubling
	longestPause = 2 * time.Second
)

// document is a transaction as it was last read or written.
type document struct {
	p    *workflow.Progress
	etag string
}

func (d *document) empty() bool { return len(d.p.Outbox.Notices) == 0 }

// open reads a transaction. NotFound if there is none.
func (s *Service) open(ctx context.Context, id string) (*document, error) {
	p, etag, err := s.c.Engine.Read(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("notices of transaction %s: %w", id, err)
	}
	return &document{p, etag}, nil
}

// change applies a function to the document and writes it, on whatever base it
// takes, and reports whether it is written: it is not when nothing waits any
// more. It touches the outbox alone, and not Saves: a runner whose save is
// refused for it applies its own change again.
func (s *Service) change(ctx context.Context, d *document, apply func(*workflow.Progress)) (changed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
	defer cancel()
	for try := 1; !d.empty(); try++ {
		next := d.p.Clone()
		apply(next)
		etag, err := s.c.Engine.Store.Replace(ctx, next, d.etag)
		if err == nil {
			d.p, d.etag = next, etag
			return true, nil
		}
		if !repeatable(err) || try == writeTries {
			return false, fmt.Errorf("write notices of transaction %s: %w", d.p.ID, err)
		}
		if failure.Is(err, failure.Transient) {
			pause := workflow.Backoff{Min: writePause, Max: longestPause}.Delay(try)
			if perr := s.c.Engine.Pause(ctx, pause); perr != nil {
				return false, fmt.Errorf("write notices of transaction %s: %w", d.p.ID, errors.Join(err, perr))
			}
		}
		switch again, err := s.open(ctx, d.p.ID); {
		case err == nil && sameOutbox(again.p.Outbox, next.Outbox): // the answer was lost, or another did the same
			*d = *again
			return true, nil
		case err == nil:
			*d = *again
		case !repeatable(err):
			return false, err
		}
		// Where the read has failed, the write on the old base tells.
	}
	return false, nil
}

// repeatable reports whether a failed read or write can succeed on a repeat.
func repeatable(err error) bool {
	return failure.Is(err, failure.Transient) || failure.Is(err, failure.Conflict)
}

// sameOutbox reports whether two states of one transaction's outbox are the
// same.
func sameOutbox(a, b workflow.Outbox) bool {
	return a.Count == b.Count && a.Wake == b.Wake && a.Laters == b.Laters && a.At.Equal(b.At.Time) && a.Letter == b.Letter && a.Sent == b.Sent &&
		slices.Equal(a.Notices, b.Notices)
}
