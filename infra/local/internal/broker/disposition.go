package broker

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// A disposition is what a receiver wants done with a locked message, told by an
// AMQP outcome or by an update-disposition request.
type disposition struct {
	kind  dispositionKind
	why   queue.Reason
	props queue.Properties
}

type dispositionKind int

const (
	complete dispositionKind = iota
	abandon
	deferIt
	release
	deadLetter
)

func (d disposition) apply(q *queue.Queue, now time.Time, sub queue.Sub, t queue.Token) (queue.Change, error) {
	switch d.kind {
	case complete:
		return q.Complete(now, sub, t)
	case abandon:
		return q.Abandon(now, sub, t, d.props)
	case deferIt:
		return q.Defer(now, sub, t, d.props)
	case release:
		return q.Release(now, sub, t)
	default:
		return q.DeadLetter(now, sub, t, d.why, d.props)
	}
}

// dispositionOf maps the outcomes as Service Bus does: modified abandons (and
// counts, whatever delivery-failed says) or defers, rejected dead-letters.
func dispositionOf(o amqp.Outcome) (disposition, error) {
	switch o.Kind {
	case amqp.Accepted:
		return disposition{kind: complete}, nil
	case amqp.Released:
		return disposition{kind: release}, nil
	case amqp.Modified:
		props, err := encodeProperties(o.Annotations)
		if o.UndeliverableHere {
			return disposition{kind: deferIt, props: props}, err
		}
		return disposition{kind: abandon, props: props}, err
	case amqp.Rejected:
		d := disposition{kind: deadLetter}
		if o.Error == nil {
			return d, nil
		}
		rest := maps.Clone(o.Error.Info)
		// JavaScript sends null for what its caller left out.
		maps.DeleteFunc(rest, func(name string, v any) bool {
			return v == nil && slices.Contains(deadLetterProperties, name)
		})
		d.why = queue.Reason{Reason: text(rest[reasonProperty]), Description: text(rest[descriptionProperty])}
		for _, name := range deadLetterProperties {
			if isText(rest[name]) {
				delete(rest, name)
			}
		}
		var err error
		d.props, err = encodeProperties(rest)
		return d, err
	default:
		return disposition{}, amqp.Errorf(amqp.CondNotAllowed, "unknown outcome %d", o.Kind)
	}
}

// encodeProperties makes application properties that a settlement adds.
func encodeProperties(props map[string]any) (queue.Properties, error) {
	if err := checkProperties(props); err != nil {
		return nil, err
	}
	out := make(queue.Properties, len(props))
	for name, value := range props {
		b, err := amqp.AppendValue([]byte{0, 0x53, secValue}, value)
		if err != nil {
			return nil, amqp.Errorf(amqp.CondInvalidField, "property '%s' can't be kept: %v", name, err)
		}
		out[name] = b
	}
	return out, nil
}

// dispositionIn reads an update-disposition request.
func dispositionIn(body map[string]any) (disposition, error) {
	var d disposition
	status, _ := body["disposition-status"].(string)
	switch strings.ToLower(status) {
	case "completed":
		d.kind = complete
	case "abandoned":
		d.kind = abandon
	case "defered": // spelled like this on the wire
		d.kind = deferIt
	case "suspended":
		d.kind = deadLetter
	default:
		return d, amqp.Errorf(amqp.CondInvalidField, "disposition-status '%s' is not known", status)
	}
	d.why.Reason = text(body["deadletter-reason"])
	d.why.Description = text(body["deadletter-description"])
	if body["properties-to-modify"] == nil {
		return d, nil
	}
	props, err := bodyOf(body["properties-to-modify"])
	if err != nil {
		return d, err
	}
	d.props, err = encodeProperties(props)
	return d, err
}
