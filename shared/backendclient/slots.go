package backendclient

import (
	"context"
	"errors"
	"time"
)

// slots limits how many calls are made at a time: one place for each.
type slots chan struct{}

// errAllTaken is the cause of a call that found no free place in time.
var errAllTaken = errors.New("too many calls are under way")

// take waits for a free place, at most for the given time.
func (s slots) take(ctx context.Context, wait time.Duration) error {
	select {
	case s <- struct{}{}:
		return nil
	default:
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return nil
	case <-timer.C:
		return errAllTaken
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives back a place.
func (s slots) release() { <-s }
