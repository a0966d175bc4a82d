package amqp

import (
	"errors"
	"io"
)

// errClosed ends the read loop after the peer's close.
var errClosed = errors.New("closed by the peer")

// readLoop reads frames until the connection ends. After a violation it goes on
// until the peer's close, so that the peer gets ours (section 2.4.3).
func (c *conn) readLoop() {
	for {
		f, err := c.next()
		if err == nil {
			err = c.receive(f)
		}
		if err == nil {
			continue
		}
		if errors.Is(err, errClosed) {
			return
		}
		c.readFailed(err)
		switch e, ok := errors.AsType[*Error](err); {
		case !ok:
			return
		case e.Condition == CondFramingError:
			// Where the next frame starts is not known any more. What still
			// comes is read, since closing a socket with unread data could
			// take our close frame back. An error of it tells nothing new.
			_, _ = io.Copy(io.Discard, deadlineReader{c})
			return
		}
	}
}

// receive handles one frame and delivers the events that follow from it. An
// *Error closes the connection.
func (c *conn) receive(f frame) error {
	if f.kind != frameAMQP {
		return Errorf(CondFramingError, "frame type %d", f.kind)
	}
	if len(f.body) == 0 {
		return nil
	}
	p, payload, err := c.scratch.decode(f.body)
	if err != nil {
		return &Error{Condition: CondDecodeError, Description: err.Error()}
	}
	c.mu.Lock()
	err = c.dispatch(f.channel, p, payload)
	events, full := c.runnable.len() > 0, c.full()
	c.mu.Unlock()
	if l := c.opening; l != nil {
		c.opening = nil
		l.open()
	}
	if events {
		c.runLinks()
	}
	if full {
		c.waitRoom()
	}
	return err
}

// dispatch routes a performative. It needs mu.
func (c *conn) dispatch(channel uint16, p performative, payload []byte) error {
	if p, ok := p.(*closeFrame); ok {
		if p.err != nil && c.failure == nil {
			c.failure = p.err
		}
		c.close(nil)
		return errClosed
	}
	if c.closing {
		return nil
	}
	if channel > c.options.ChannelMax {
		return Errorf(CondFramingError, "channel %d, limit %d", channel, c.options.ChannelMax)
	}
	s := c.sessions[channel]
	if begin, ok := p.(*beginFrame); ok {
		if s != nil || begin.remoteChannel.ok {
			return Errorf(CondNotAllowed, "begin on channel %d, which has a session", channel)
		}
		return c.begin(channel, begin)
	}
	if s == nil {
		switch p.(type) {
		case *detachFrame, *dispositionFrame, *flowFrame, *endFrame:
			return nil // of a session that has ended meanwhile: there is nothing left to do
		}
		return Errorf(CondNotAllowed, "%s on channel %d, which has no session", name(p), channel)
	}
	if end, ok := p.(*endFrame); ok {
		s.peerEnded(end)
		return nil
	}
	if s.ended {
		return nil // sent before the peer saw our end
	}
	return s.receive(p, payload)
}

// full tells that the reader has to wait: answers pile up because the peer does
// not read, or Sinks hold too much.
func (c *conn) full() bool {
	return !c.closing && (len(c.out) > maxOut || c.held >= c.options.MaxBuffered)
}

func (c *conn) waitRoom() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.full() {
		c.room.Wait()
	}
}
