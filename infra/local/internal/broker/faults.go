package broker

import (
	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// linkFaults are what one service does to the links of its entities, and to
// requests that send. The faults of queues alone are where they happen:
// queueNode.receive and locked, queueSource.loseCompletion.
type linkFaults struct {
	in                     *fault.Injector // nil: none
	detach, busy, sendLost fault.Point
	away                   fault.Point
	entity                 string // the queue or hub, which a burst may be for alone
	busyText               string
}

func (b *Broker) serviceBusFaults(entity string) linkFaults {
	return linkFaults{
		in: b.cfg.Faults, detach: fault.ServiceBusDetach, busy: fault.ServiceBusBusy, sendLost: fault.ServiceBusSendLost,
		away: fault.ServiceBusAway, entity: entity,
		// Microsoft Learn, "Throttling operations on Azure Service Bus".
		busyText: "The request was terminated because the entity is being throttled. Error code : 50009. Please wait 2 seconds and try again.",
	}
}

func (b *Broker) eventHubsFaults(entity string) linkFaults {
	return linkFaults{
		in: b.cfg.Faults, detach: fault.EventHubsDetach, busy: fault.EventHubsBusy, sendLost: fault.EventHubsSendLost,
		away: fault.EventHubsAway, entity: entity,
		// Microsoft Learn, "Event Hubs messaging exceptions", server busy.
		busyText: "The request was terminated because the entity is being throttled. Error code : 50002. Sub error : 102. Please wait 4 seconds and try again.",
	}
}

// forcedDetach ends a link as the services do that move an entity, or close a
// link for other reasons of their own (Microsoft Learn, "AMQP errors in Azure
// Service Bus"). The SDKs make a new link and repeat the operation at once;
// what was locked is settled by a request to $management instead. role is
// publisher or consumer.
func forcedDetach(role string) *amqp.DetachError {
	return &amqp.DetachError{Reason: amqp.Errorf(amqp.CondDetachForced,
		"The link is force detached. Code: %s. Details: the entity has moved to another container", role)}
}

// detaches decides whether the link ends instead of what is to pass on it.
func (f linkFaults) detaches() bool { return f.in.HitIn(f.away, f.entity) || f.in.Hit(f.detach) }

// reached returns the error of a service that is away, for links that are to
// open and for requests; nil if it is there.
func (f linkFaults) reached() error {
	if f.in.HitIn(f.away, f.entity) {
		return amqp.Errorf(amqp.CondServerBusy, "%s", f.busyText)
	}
	return nil
}

// send runs what stores something, or breaks it: a busy service takes nothing,
// and the answer of one that has stored it may be lost with the connection. The
// SDKs repeat both after their delay, so that the second is there twice, unless
// duplicate detection finds it.
func (f linkFaults) send(run func(done func(error)), done func(error)) {
	switch {
	case f.in.Hit(f.busy):
		done(amqp.Errorf(amqp.CondServerBusy, "%s", f.busyText))
	case f.in.Hit(f.sendLost):
		run(func(err error) {
			if err == nil {
				err = amqp.ErrCut
			}
			done(err)
		})
	default:
		run(done)
	}
}

// sink puts the faults in front of a link that sends.
func (f linkFaults) sink(s amqp.Sink) (amqp.Sink, error) {
	if f.in == nil {
		return s, nil
	}
	if err := f.reached(); err != nil {
		return nil, err
	}
	return &faultySink{s, f}, nil
}

type faultySink struct {
	amqp.Sink
	faults linkFaults
}

// Transfer implements [amqp.Sink].
func (s *faultySink) Transfer(t amqp.Transfer, done func(error)) {
	if s.faults.detaches() {
		done(forcedDetach("publisher"))
		return
	}
	s.faults.send(func(done func(error)) { s.Sink.Transfer(t, done) }, done)
}

// source puts the faults around a link that receives, which open makes.
func (f linkFaults) source(out amqp.Outgoing, open func(amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error)) (amqp.Source, amqp.LinkOptions, error) {
	if f.in == nil {
		return open(out)
	}
	if err := f.reached(); err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	s, options, err := open(&faultyOutgoing{out, f})
	if err != nil {
		return nil, options, err
	}
	return &faultySource{s, f}, options, nil
}

// faultyOutgoing ends a link when something is to be delivered on it: a message
// is available again at once, an event is read again by the next link.
type faultyOutgoing struct {
	amqp.Outgoing
	faults linkFaults
}

// Send implements [amqp.Outgoing].
func (o *faultyOutgoing) Send(d amqp.Delivery) bool {
	if o.faults.detaches() {
		o.Detach(forcedDetach("consumer").Reason)
		return false
	}
	return o.Outgoing.Send(d)
}

// faultySource ends a link when a message is settled on it, which changes
// nothing: it stays locked.
type faultySource struct {
	amqp.Source
	faults linkFaults
}

// Settle implements [amqp.Source].
func (s *faultySource) Settle(tag []byte, o amqp.Outcome, done func(error)) {
	if s.faults.detaches() {
		done(forcedDetach("consumer"))
		return
	}
	s.Source.Settle(tag, o, done)
}
