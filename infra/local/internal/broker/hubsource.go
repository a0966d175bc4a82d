package broker

import (
	"fmt"
	"sync"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
)

// What the SDKs attach an Event Hubs receiver with.
const (
	selectorFilter = "apache.org:selector-filter:string"
	epochProperty  = "com.microsoft:epoch"
	nameProperty   = "com.microsoft:receiver-name"
)

// readAtOnce bounds how many events are taken out of a partition under its lock.
const readAtOnce = 256

func readerOf(a amqp.Attach) (*eventlog.Reader, error) {
	r := &eventlog.Reader{Name: text(a.Properties[nameProperty])}
	if r.Name == "" {
		r.Name = a.PeerAddress
	}
	if a.Properties[epochProperty] != nil {
		level, err := integer(a.Properties, epochProperty)
		if err != nil {
			return nil, err
		}
		r.OwnerLevel = &level
	}
	return r, nil
}

// A hubSource is one receiving link of a partition. Its pump goroutine, owned by
// the partitionNode, sends; so a slow link keeps nobody waiting.
type hubSource struct {
	n      *partitionNode
	group  string
	reader *eventlog.Reader
	out    amqp.Outgoing
	cursor eventlog.Cursor // the pump's

	mu     sync.Mutex
	credit uint32

	wake chan struct{} // has room for one: credit or events came
	quit chan struct{}
	once sync.Once
}

func newHubSource(n *partitionNode, group string, r *eventlog.Reader, c eventlog.Cursor, out amqp.Outgoing) *hubSource {
	return &hubSource{
		n: n, group: group, reader: r, cursor: c, out: out,
		wake: make(chan struct{}, 1), quit: make(chan struct{}),
	}
}

func (s *hubSource) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Credit implements [amqp.Source].
func (s *hubSource) Credit(n uint32) {
	s.mu.Lock()
	s.credit = n
	s.mu.Unlock()
	s.signal()
}

// Settle implements [amqp.Source]: events are sent settled, there is nothing to
// settle.
func (s *hubSource) Settle(_ []byte, _ amqp.Outcome, done func(error)) { done(nil) }

// Close implements [amqp.Source].
func (s *hubSource) Close() {
	s.stop()
	s.n.leave(s)
}

func (s *hubSource) stop() { s.once.Do(func() { close(s.quit) }) }

// end ends the link with an error.
func (s *hubSource) end(e *amqp.Error) {
	s.stop()
	s.out.Detach(e)
}

// lose ends the link because r owns the partition now.
func (s *hubSource) lose(r *eventlog.Reader) {
	level := "none"
	if s.reader.OwnerLevel != nil {
		level = fmt.Sprint(*s.reader.OwnerLevel)
	}
	s.end(amqp.Errorf(amqp.CondLinkStolen,
		"New receiver '%s' with higher epoch of '%d' is created hence current receiver '%s' with epoch '%s' is getting disconnected. "+
			"If you are recreating the receiver, make sure a higher epoch is used", r.Name, *r.OwnerLevel, s.reader.Name, level))
}

// pump sends what there is and credit allows, until stop.
func (s *hubSource) pump() {
	var events []eventlog.Event
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		}
		for more := true; more; {
			events, more = s.round(events[:0])
		}
	}
}

// round sends one read's worth of events; more says whether to go on at once.
func (s *hubSource) round(events []eventlog.Event) (_ []eventlog.Event, more bool) {
	s.mu.Lock()
	limit := int(min(s.credit, readAtOnce))
	s.mu.Unlock()
	s.n.mu.Lock()
	events = s.n.events.Read(&s.cursor, limit, events)
	s.n.mu.Unlock()
	for i := range events {
		if !s.send(&events[i]) {
			// The link ended or had less credit than thought: go on from here
			// when there is credit again.
			s.cursor.Rewind(events[i].SequenceNumber)
			return events, false
		}
	}
	return events, len(events) > 0
}

// send sends one event. Its credit is taken before: should Credit come in
// between, credit is too high by one, which Send finds out; the other way round
// a credit would be lost.
func (s *hubSource) send(e *eventlog.Event) bool {
	select {
	case <-s.quit:
		return false
	default:
	}
	payload, err := encodeEvent(e)
	if err != nil {
		// Sending has checked the event, so only damaged records come here.
		s.n.log.Error("an event can't be delivered", "entity", s.n.prefix, "sequenceNumber", e.SequenceNumber, "error", err)
		s.end(amqp.Errorf(amqp.CondInternalError, "event %d can't be delivered", e.SequenceNumber))
		return false
	}
	s.mu.Lock()
	if s.credit > 0 {
		s.credit--
	}
	s.mu.Unlock()
	return s.out.Send(amqp.Delivery{Tag: eventTag(e.SequenceNumber), Payload: payload})
}

// eventTag is the sequence number: unique on a link, and easy to recognize.
func eventTag(seq int64) []byte { return fmt.Appendf(nil, "%d", seq) }

// encodeEvent makes the message that a reader gets: what was sent with the
// annotations of the service.
func encodeEvent(e *eventlog.Event) ([]byte, error) {
	parts, err := openEnvelope(e.Body)
	if err != nil {
		return nil, fmt.Errorf("broker: event %d: %w", e.SequenceNumber, err)
	}
	head, err := decodeSections(parts.message)
	if err != nil {
		return nil, fmt.Errorf("broker: event %d: %w", e.SequenceNumber, err)
	}
	if head.Annotations == nil {
		head.Annotations = make(goamqp.Annotations, 4)
	}
	dropOwn(head.Annotations)
	head.Annotations[annSequence] = e.SequenceNumber
	head.Annotations[annOffset] = e.Offset
	head.Annotations[annEnqueued] = e.EnqueuedAt
	if e.HasKey {
		head.Annotations[annPartitionKey] = e.PartitionKey
	}
	annotations, err := head.MarshalBinary()
	if err != nil {
		return nil, fmt.Errorf("broker: event %d: %w", e.SequenceNumber, err)
	}
	parts.delivery, parts.message = nil, annotations
	return parts.bytes(), nil
}
