package amqp

import (
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// ErrCut, as the answer of a Service to a transfer, a disposition or a request,
// answers nothing: the connection is cut, as if the network had failed when the
// answer was on its way.
var ErrCut = errors.New("amqp: the connection is cut")

// A DetachError, as the answer of a Service to a transfer or a disposition,
// answers nothing: the link is detached for the reason, as a service does that
// moves an entity to another machine.
type DetachError struct{ Reason *Error }

func (e *DetachError) Error() string { return "amqp: the link is detached: " + e.Reason.Error() }

// broken ends the link or its connection if an answer of the Service says so.
// It needs mu.
func (l *link) broken(err error) bool {
	if errors.Is(err, ErrCut) {
		l.s.c.cut(err)
		return true
	}
	if detach, ok := errors.AsType[*DetachError](err); ok {
		l.detach(detach.Reason)
		// Not here: the Service may hold a lock that its Close needs.
		l.s.c.wg.Go(l.s.c.runLinks)
		return true
	}
	return false
}

// refuses tells whether a new connection is to be closed before a word.
func (s *Server) refuses() bool { return s.options.Faults.Hit(fault.AMQPRefuse) }

// next reads the next frame, if the connection lasts so long.
func (c *conn) next() (frame, error) {
	f, err := c.frames.next()
	if err != nil {
		return f, err
	}
	if wait := c.options.Faults.Wait(fault.AMQPSlow); wait > 0 {
		c.delay(wait)
	}
	if c.options.Faults.Hit(fault.AMQPDrop) {
		err := fmt.Errorf("frame of %d bytes: %w", len(f.body), ErrCut)
		c.abort(err)
		return frame{}, err
	}
	return f, nil
}

// delay holds up the reader, and so all that comes over the connection.
func (c *conn) delay(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}
