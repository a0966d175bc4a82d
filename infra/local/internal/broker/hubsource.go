package broker

import (
	"fmt"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
)

// What the SDKs attach an Event Hubs receiver or sender with.
const (
	metricsCapability    = "com.microsoft:enable-receiver-runtime-metric"
	idempotentCapability = "com.microsoft:idempotent-producer"

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
	tells  bool            // where the partition's end is, with each event
	cursor eventlog.Cursor // the pump's

	mu      sync.Mutex
	credit  uint32
	emptied func() // to be called when all is sent that is there; nil unless the peer drains

	wake chan struct{} // has room for one: credit or events came
	quit chan struct{}
	once sync.Once
}

func newHubSource(n *partitionNode, group string, r *eventlog.Reader, c eventlog.Cursor, tells bool, out amqp.Outgoing) *hubSource {
	return &hubSource{
		n: n, group: group, reader: r, cursor: c, tells: tells, out: out,
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
func (s *hubSource) Credit(n uint32, emptied func()) {
	s.mu.Lock()
	s.credit, s.emptied = n, emptied
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
		s.mu.Lock()
		emptied := s.emptied
		s.emptied = nil
		s.mu.Unlock()
		for more := true; more; {
			events, more = s.round(events[:0])
		}
		if emptied != nil {
			emptied()
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
	var metrics []pair
	if s.tells {
		metrics = metricsOf(s.n.events.Properties(), s.n.now())
	}
	s.n.mu.Unlock()
	var record string
	var bodies [][]byte
	for i := range events {
		if e := &events[i]; e.Record != record {
			var err error
			if bodies, err = s.n.bodies(e); err != nil {
				s.fail(e, err)
				return events, false
			}
			record = e.Record
		}
		if bodies == nil {
			continue // retention has dropped it since
		}
		if !s.send(&events[i], bodies[events[i].Index], metrics) {
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
func (s *hubSource) send(e *eventlog.Event, body []byte, metrics []pair) bool {
	select {
	case <-s.quit:
		return false
	default:
	}
	payload, err := encodeEvent(e, body, metrics)
	if err != nil {
		s.fail(e, err)
		return false
	}
	s.mu.Lock()
	if s.credit > 0 {
		s.credit--
	}
	s.mu.Unlock()
	return s.out.Send(amqp.Delivery{Tag: eventTag(e.SequenceNumber), Payload: payload})
}

// fail ends the link at an event that can't be delivered. Sending has checked it, so
// only damaged records come here, and a store that failed.
func (s *hubSource) fail(e *eventlog.Event, err error) {
	s.n.log.Error("an event can't be delivered", "entity", s.n.prefix, "sequenceNumber", e.SequenceNumber, "error", err)
	s.end(amqp.Errorf(amqp.CondInternalError, "event %d can't be delivered", e.SequenceNumber))
}

// eventTag is the sequence number: unique on a link, and easy to recognize.
func eventTag(seq int64) []byte { return fmt.Appendf(nil, "%d", seq) }

// encodeEvent makes the message that a reader gets: the body that was sent with the
// annotations of the service, and what is known of the partition's end for a
// reader that asked for it.
func encodeEvent(e *eventlog.Event, body []byte, metrics []pair) ([]byte, error) {
	b, err := appendEvent(make([]byte, 0, len(body)+256), e, body, metrics)
	if err != nil {
		return nil, fmt.Errorf("broker: event %d: %w", e.SequenceNumber, err)
	}
	return b, nil
}

func appendEvent(b []byte, e *eventlog.Event, body []byte, metrics []pair) ([]byte, error) {
	parts, err := openEnvelope(body)
	if err != nil {
		return nil, err
	}
	own := append(make([]pair, 0, 4), pair{annSequence, e.SequenceNumber}, pair{annOffset, e.Offset}, pair{annEnqueued, e.EnqueuedAt})
	drop := notPassedOn
	if e.HasKey {
		own = append(own, pair{annPartitionKey, e.PartitionKey})
		drop = func(name string, value []byte) bool { return name == annPartitionKey || notPassedOn(name, value) }
	}
	b = appendSection(b, secHeader, parts.header)
	if b, err = editMap(b, secDeliveryAnnotations, nil, nil, metrics); err != nil {
		return nil, err
	}
	if b, err = editMap(b, secMessageAnnotations, parts.message, drop, own); err != nil {
		return nil, err
	}
	b = appendSection(b, secProperties, parts.properties)
	b = appendSection(b, secApplication, parts.application)
	return append(b, parts.body...), nil
}

// metricsOf tells a reader what the partition's end was when an event was
// delivered (the delivery annotations that the SDKs' last enqueued event
// properties are made of).
func metricsOf(p eventlog.Properties, now time.Time) []pair {
	return []pair{
		{"last_enqueued_sequence_number", p.Last}, {"last_enqueued_offset", p.LastOffset},
		{"last_enqueued_time_utc", p.LastEnqueuedAt}, {"runtime_info_retrieval_time_utc", now},
	}
}
