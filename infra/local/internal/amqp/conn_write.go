package amqp

import (
	"fmt"
	"time"
)

// writeLoop writes what the connection has to send until the reader has ended.
// Frames that come up during a write go out together in the next one.
func (c *conn) writeLoop() {
	idle := newIdleTimer(c.peerIdle)
	defer idle.stop()
	var spare []byte
	for {
		b := c.collect(spare)
		if len(b) == 0 {
			select {
			case <-c.wake:
				spare = b
				continue
			case <-idle.c:
				b = append(b, emptyFrame...)
			case <-c.readDone:
				if b = c.collect(b); len(b) == 0 {
					return
				}
			}
		}
		if err := c.write(b); err != nil {
			c.abort(err)
			return
		}
		idle.reset()
		spare = keep(b)
	}
}

func (c *conn) write(b []byte) error {
	c.mu.Lock()
	deadline := c.deadline
	if deadline.IsZero() {
		deadline = time.Now().Add(c.options.WriteTimeout)
	}
	err := c.net.SetWriteDeadline(deadline)
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("set write deadline: %w", err)
	}
	if _, err := c.net.Write(b); err != nil {
		return fmt.Errorf("write: %w", err)
	}
	return nil
}

// collect returns the frames that are due and leaves spare in their place.
func (c *conn) collect(spare []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, s := range c.dirty {
		s.flush()
		c.dirty[i] = nil
	}
	c.dirty = c.dirty[:0]
	c.pull()
	b := c.out
	c.out = spare[:0]
	if len(b) > maxOut {
		c.room.Broadcast()
	}
	return b
}

// pull encodes transfers, link by link, until a write is full. It needs mu.
func (c *conn) pull() {
	for c.ready.len() > 0 && len(c.out) < writeBatch && !c.closing {
		l := c.ready.pop()
		l.sending.waiting = false
		l.sending.transmit()
	}
	if c.runnable.len() > 0 {
		c.wg.Go(c.runLinks)
	}
}

// keep returns b for reuse, unless one burst has made it too large to keep.
func keep(b []byte) []byte {
	if cap(b) > 4*writeBatch {
		return nil
	}
	return b[:0]
}

// idleTimer fires when nothing was written for half of the peer's idle
// time-out (section 2.4.5); it never does for a peer without one.
type idleTimer struct {
	timer *time.Timer
	every time.Duration
	c     <-chan time.Time
}

func newIdleTimer(peerIdle time.Duration) *idleTimer {
	if peerIdle == 0 {
		return &idleTimer{}
	}
	every := max(peerIdle/2, time.Millisecond)
	timer := time.NewTimer(every)
	return &idleTimer{timer: timer, every: every, c: timer.C}
}

func (t *idleTimer) reset() {
	if t.timer != nil {
		t.timer.Reset(t.every)
	}
}

func (t *idleTimer) stop() {
	if t.timer != nil {
		t.timer.Stop()
	}
}
