package amqp

import "context"

// linkState is where a link is between its two attaches and two detaches.
type linkState byte

const (
	linkOpening  linkState = iota // the reader asks the Service; our attach is not sent
	linkAttached                  // both attaches are sent
	linkDetached                  // our detach is sent, the peer's is to come
	linkGone
)

// linkName identifies a link in a connection: two with the same name and
// direction can't live at the same time (OASIS part 2, section 2.6.1).
type linkName struct {
	name string
	role role // the peer's
}

// link is one link. Exactly one of receiving and sending is set. All of it
// needs the connection's mu, but for what deliver calls.
type link struct {
	s      *session
	name   string
	remote uint32 // the peer's handle
	local  uint32 // ours
	state  linkState
	asked  attachFrame // what the peer attached with
	ctx    context.Context
	cancel context.CancelFunc

	// While opening: what the Service did meanwhile.
	refusal *Error

	receiving *receiving // the peer sends
	sending   *sending   // the peer receives

	// Events in the order of arrival. The goroutine that set running delivers
	// them; the one that opens the link does so from the start.
	events  []event
	running bool
}

// event is something that the Service is to be told about a link, after mu was
// given up.
type event struct {
	received *received // a transfer for the Sink
	sent     *sent     // a settlement for the Source ...
	outcome  Outcome   // ... with this outcome
	closed   bool      // the link has ended
}

func (l *link) post(e event) {
	l.events = append(l.events, e)
	l.schedule()
}

func (l *link) schedule() {
	if !l.running {
		l.running = true
		l.s.c.runnable.push(l)
	}
}

// runLinks delivers the events of the links that are due. It is called without
// mu by whichever goroutine made them due, or by one of its own.
func (c *conn) runLinks() {
	for {
		c.mu.Lock()
		if c.runnable.len() == 0 {
			c.mu.Unlock()
			return
		}
		l := c.runnable.pop()
		c.mu.Unlock()
		l.run()
	}
}

// run delivers a link's events, in order, until there are no more.
func (l *link) run() {
	var batch []event
	for {
		l.s.c.mu.Lock()
		clear(batch)
		batch, l.events = l.events, batch[:0]
		credit, tell := uint32(0), false
		if l.sending != nil {
			credit, tell = l.sending.news()
		}
		if len(batch) == 0 && !tell {
			l.running = false
			l.s.c.mu.Unlock()
			return
		}
		l.s.c.mu.Unlock()
		for i := range batch {
			l.deliver(&batch[i])
		}
		if tell {
			l.sending.tell(credit)
		}
	}
}

func (l *link) deliver(e *event) {
	switch {
	case e.received != nil:
		l.receiving.sink.Transfer(e.received.message, e.received.done)
	case e.sent != nil:
		l.sending.source.Settle(e.sent.tag, e.outcome, e.sent.done)
	case e.closed && l.receiving != nil:
		l.receiving.sink.Close()
	case e.closed:
		l.sending.source.Close()
	}
}

// finish ends the Service's part of the link: nothing is sent for it any more
// and its Sink or Source is closed, once.
func (l *link) finish() {
	if l.state != linkOpening && l.state != linkAttached {
		return
	}
	if l.state == linkAttached {
		l.post(event{closed: true})
	}
	l.cancel()
	c := l.s.c
	if key := l.key(); c.names[key] == l {
		delete(c.names, key)
	}
	if c.cbs[l.asked.role] == l {
		delete(c.cbs, l.asked.role)
	}
	if l.receiving != nil {
		l.receiving.finish()
	} else {
		l.sending.finish()
	}
}

func (l *link) key() linkName { return linkName{name: l.name, role: l.asked.role} }

// detach ends the link from our side.
func (l *link) detach(reason *Error) {
	switch l.state {
	case linkOpening:
		l.refusal = reason
		l.cancel()
	case linkAttached:
		l.finish()
		l.sendDetach(reason)
		l.state = linkDetached
	}
}

// sendDetach sends our detach, after what is to be said of its deliveries: a
// peer may take a disposition for a link that is gone as an error.
func (l *link) sendDetach(reason *Error) {
	l.s.flushDispositions()
	l.s.c.send(l.s.local, &detachFrame{handle: l.local, closed: true, err: reason})
}

// peerDetached takes the peer's detach, which is answered unless it is the
// answer to ours. Links are not resumed, so that one without closed ends the
// link as well.
func (l *link) peerDetached() {
	switch l.state {
	case linkAttached:
		l.finish()
		l.sendDetach(nil)
		l.release()
	case linkDetached:
		l.release()
	}
}

// release frees the handles after both detaches.
func (l *link) release() {
	l.state = linkGone
	delete(l.s.links, l.remote)
	l.s.handles.remove(l.local)
}

// flow takes the link fields of a flow.
func (l *link) flow(p *flowFrame) {
	if l.sending != nil {
		l.sending.flow(p)
	} else {
		l.receiving.flow(p)
	}
}
