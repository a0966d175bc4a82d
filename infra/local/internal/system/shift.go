package system

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
)

// A shift is the time of one host in an instance.
type shift struct {
	host *host.Host
	ctx  context.Context // ends when the host is to stop, or has ended
	stop context.CancelFunc
	over chan struct{} // closed when the next shift has begun, or there is none
}

// begin begins a shift with a new host.
func (i *Instance) begin(ctx context.Context) (*shift, error) {
	h, err := i.newHost()
	if err != nil {
		return nil, err
	}
	s := &shift{host: h, over: make(chan struct{})}
	s.ctx, s.stop = context.WithCancel(ctx)
	i.mu.Lock()
	i.current = s
	i.mu.Unlock()
	return s, nil
}

// shift returns the current one.
func (i *Instance) shift() *shift {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.current
}

// run keeps a host running until ctx ends.
func (i *Instance) run(ctx context.Context, s *shift) {
	defer close(i.finished)
	ever := false
	for {
		err := s.host.Run(s.ctx)
		ever = ever || served(s.host)
		stopped := s.ctx.Err() != nil
		s.stop()
		if ctx.Err() != nil {
			close(s.over)
			return
		}
		if !stopped && (!errors.Is(err, host.ErrHandlerExceededRestarts) || !ever) {
			i.err = err
			close(s.over)
			return
		}
		if err == nil {
			err = errStopped
		}
		i.c.Notice(fmt.Sprintf("%s stopped: %v; a new one takes its place", i.c.Name, err))
		next, err := i.replace(ctx)
		if err != nil {
			i.err = fmt.Errorf("replace %s: %w", i.c.Name, err)
			close(s.over)
			return
		}
		close(s.over)
		s = next
	}
}

// errStopped is why a host has stopped that was told to.
var errStopped = errors.New("the platform stopped it")

// A replaced host's address is free at once, unless the system has lent the port
// to an outgoing connection in between: then it is tried again.
const (
	replaceTries = 50
	replacePause = 100 * time.Millisecond
)

// replace begins the next shift.
func (i *Instance) replace(ctx context.Context) (*shift, error) {
	for try := 1; ; try++ {
		s, err := i.begin(ctx)
		if err == nil || try == replaceTries || !errors.Is(err, syscall.EADDRINUSE) {
			return s, err
		}
		select {
		case <-time.After(replacePause):
		case <-ctx.Done():
			return nil, errors.Join(err, ctx.Err())
		}
	}
}

// served reports whether the host has ever been ready. If no host of an instance has, none
// would be after a replacement either.
func served(h *host.Host) bool {
	select {
	case <-h.Ready():
		return true
	default:
		return false
	}
}

// StopHost stops the host as the platform does, with time for what it works on,
// and returns when another has taken its place.
func (i *Instance) StopHost(ctx context.Context) error {
	return i.end(ctx, i.shift())
}

// retryPatience is how long StopHostInRetry waits for a batch that fails by itself, as
// all do while the queues are away: of such a batch the handler may have done a part.
const retryPatience = 3 * time.Second

// StopHostInRetry is StopHost while the host repeats a batch of events, with the
// loss that a host then may cause: see host.AwaitRetry. It waits for such a
// batch.
func (i *Instance) StopHostInRetry(ctx context.Context) error {
	s := i.shift()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // it may end by itself
	if err := s.host.AwaitRetry(waiting, retryPatience); err != nil {
		return fmt.Errorf("wait for a batch in its retries: %w", err)
	}
	return i.end(ctx, s)
}

// end ends a shift.
func (i *Instance) end(ctx context.Context, s *shift) error {
	s.stop()
	select {
	case <-s.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if i.shift() == s {
		return fmt.Errorf("%s has ended", i.c.Name)
	}
	return nil
}
