package broker

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// Request implements [amqp.Service]: the request-response operations of Service
// Bus (Microsoft Learn, "AMQP 1.0 in Azure Service Bus: request-response-based
// operations") and of Event Hubs.
func (b *Broker) Request(ctx context.Context, r amqp.Request) (amqp.Response, error) {
	op, _ := r.Properties["operation"].(string)
	entity, ok := target(path(r.Address))
	if !ok {
		return amqp.Response{}, noEntity(r.Address)
	}
	if op == "READ" {
		return b.readHub(r, entity)
	}
	q, sub, ok := b.queueAt(entity)
	if !ok {
		return amqp.Response{}, noEntity(r.Address)
	}
	if err := b.authorized(r.Conn, entity[0]); err != nil {
		return amqp.Response{}, err
	}
	body, err := bodyOf(r.Body)
	if err != nil {
		return amqp.Response{}, err
	}
	m := managed{q, sub, b.serviceBusFaults(entity[0]), b.mortal(ctx, r.Conn, entity[0])}
	if err := m.faults.reached(); err != nil {
		return amqp.Response{}, err
	}
	switch strings.ToLower(op) {
	case "com.microsoft:renew-lock":
		return m.renew(ctx, body)
	case "com.microsoft:peek-message":
		return m.peek(ctx, body)
	case "com.microsoft:receive-by-sequence-number":
		return m.receiveDeferred(ctx, body)
	case "com.microsoft:schedule-message":
		return m.schedule(ctx, body)
	case "com.microsoft:cancel-scheduled-message":
		return m.cancel(ctx, body)
	case "com.microsoft:update-disposition":
		return m.settle(ctx, body)
	case "com.microsoft:renew-session-lock", "com.microsoft:get-session-state",
		"com.microsoft:set-session-state", "com.microsoft:get-message-sessions":
		return amqp.Response{}, amqp.Errorf(amqp.CondNotAllowed, "The entity '%s' does not require sessions", q.cfg.Name)
	default:
		return amqp.Response{}, amqp.Errorf(amqp.CondNotImplemented, "The operation '%s' is not known", op)
	}
}

// managed is a queue's or sub-queue's $management node.
type managed struct {
	q      *queueNode
	sub    queue.Sub
	faults linkFaults
	client *mortal
}

// do runs an operation and waits until what it changed is kept.
func (m managed) do(ctx context.Context, op func(now time.Time) (queue.Change, error)) error {
	return await(ctx, func(done func(error)) { m.q.change(op, done) })
}

// await waits until what run starts is done.
func await(ctx context.Context, run func(done func(error))) error {
	done := make(chan error, 1)
	run(func(err error) { done <- err })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func success(body any) (amqp.Response, error) {
	return amqp.Response{Status: http.StatusOK, Description: "OK", Body: body}, nil
}

func noContent() (amqp.Response, error) {
	return amqp.Response{Status: http.StatusNoContent, Description: "No Content"}, nil
}

// renew prolongs locks: all of them or, when one is lost, none that comes after
// it.
func (m managed) renew(ctx context.Context, body map[string]any) (amqp.Response, error) {
	tokens, err := tokensOf(body)
	if err != nil {
		return amqp.Response{}, err
	}
	until := make([]time.Time, len(tokens))
	err = m.do(ctx, func(now time.Time) (queue.Change, error) {
		var all queue.Change
		for i, t := range tokens {
			c, err := m.q.locked(now, m.sub, t, func() (c queue.Change, err error) {
				until[i], c, err = m.q.q.Renew(now, m.sub, t)
				return c, err
			})
			all = append(all, c...)
			if err != nil {
				return all, err
			}
		}
		return all, nil
	})
	if err != nil {
		return amqp.Response{}, err
	}
	return success(map[string]any{"expirations": until})
}

// What one peek gives at most; clients ask again from the next number.
const (
	peekMessages = 250
	peekBytes    = 1 << 20
)

func (m managed) peek(ctx context.Context, body map[string]any) (amqp.Response, error) {
	from, err := integer(body, "from-sequence-number")
	if err != nil {
		return amqp.Response{}, err
	}
	count, err := integer(body, "message-count")
	if err != nil {
		return amqp.Response{}, err
	}
	if count < 1 {
		return amqp.Response{}, amqp.Errorf(amqp.CondArgumentOutOfRange, "message-count must be positive, is %d", count)
	}
	var found []queue.Received
	err = m.do(ctx, func(now time.Time) (c queue.Change, _ error) {
		found, c = m.q.q.Peek(now, m.sub, from, int(min(count, peekMessages)), peekBytes)
		return c, nil
	})
	if err != nil {
		return amqp.Response{}, err
	}
	bodies := make([][]byte, 0, len(found))
	for _, r := range found {
		body, err := m.q.body(r)
		if err != nil && !errors.Is(err, store.ErrAbsent) {
			return amqp.Response{}, err
		}
		bodies = append(bodies, body)
	}
	return m.messages(found, bodies)
}

func (m managed) receiveDeferred(ctx context.Context, body map[string]any) (amqp.Response, error) {
	seqs, err := numbersOf(body)
	if err != nil {
		return amqp.Response{}, err
	}
	settle, err := integer(body, "receiver-settle-mode")
	if err != nil {
		return amqp.Response{}, err
	}
	mode := queue.PeekLock
	if settle == 0 { // first
		mode = queue.ReceiveAndDelete
	}
	var found []queue.Received
	var bodies [][]byte
	err = m.do(ctx, func(now time.Time) (c queue.Change, err error) {
		if found, c, err = m.q.q.ReceiveDeferred(now, m.sub, mode, seqs...); err != nil {
			return c, err
		}
		for _, r := range found { // before the change, which may remove them
			body, err := m.q.body(r)
			if err != nil {
				return c, err
			}
			bodies = append(bodies, body)
		}
		return c, nil
	})
	if err != nil {
		return amqp.Response{}, err
	}
	return m.messages(found, bodies)
}

// messages is the response that carries found, but for those without a body, which
// have gone since.
func (m managed) messages(found []queue.Received, bodies [][]byte) (amqp.Response, error) {
	var list []any
	for i, r := range found {
		if bodies[i] == nil {
			continue
		}
		encoded, err := encodeReceived(r, bodies[i], m.q.cfg.Name, true)
		if err != nil {
			return amqp.Response{}, err
		}
		entry := map[string]any{"message": encoded}
		if r.Token != (queue.Token{}) {
			entry["lock-token"] = goamqp.UUID(r.Token)
		}
		list = append(list, entry)
	}
	if list == nil {
		return noContent()
	}
	return success(map[string]any{"messages": list})
}

func (m managed) schedule(ctx context.Context, body map[string]any) (amqp.Response, error) {
	if m.sub != queue.Main {
		return amqp.Response{}, amqp.Errorf(amqp.CondNotAllowed, "Nothing can be scheduled in the dead-letter queue")
	}
	list, isList := body["messages"].([]any)
	if !isList || len(list) == 0 {
		return amqp.Response{}, amqp.Errorf(amqp.CondInvalidField, "messages must be a list that is not empty")
	}
	msgs := make([]queue.Message, len(list))
	size := 0
	for i, entry := range list {
		fields, err := bodyOf(entry)
		if err != nil {
			return amqp.Response{}, err
		}
		payload, isBinary := fields["message"].([]byte)
		if !isBinary {
			return amqp.Response{}, amqp.Errorf(amqp.CondInvalidField, "message must be binary, is %T", fields["message"])
		}
		size += len(payload)
		if msgs[i], err = parseMessage(payload); err != nil {
			return amqp.Response{}, err
		}
	}
	if limit := m.q.cfg.MaxMessageBytes; size > limit {
		return amqp.Response{}, amqp.Errorf(amqp.CondMessageSizeExceeded, "The messages (size:%d) exceed the limit (%d bytes)", size, limit)
	}
	var seqs []int64
	var changed bool
	enqueue := func(done func(error)) {
		m.q.change(func(now time.Time) (c queue.Change, _ error) {
			seqs, c, changed = m.q.enqueue(now, msgs)
			return c, nil
		}, done)
	}
	err := await(ctx, func(done func(error)) {
		m.faults.send(func(done func(error)) { m.client.send(&changed, enqueue, done) }, done)
	})
	if err != nil {
		return amqp.Response{}, err
	}
	return success(map[string]any{"sequence-numbers": seqs})
}

func (m managed) cancel(ctx context.Context, body map[string]any) (amqp.Response, error) {
	seqs, err := numbersOf(body)
	if err != nil {
		return amqp.Response{}, err
	}
	err = m.do(ctx, func(now time.Time) (queue.Change, error) { return m.q.q.Cancel(now, seqs...) })
	if err != nil {
		return amqp.Response{}, err
	}
	return success(nil)
}

func (m managed) settle(ctx context.Context, body map[string]any) (amqp.Response, error) {
	tokens, err := tokensOf(body)
	if err != nil {
		return amqp.Response{}, err
	}
	d, err := dispositionIn(body)
	if err != nil {
		return amqp.Response{}, err
	}
	err = m.do(ctx, func(now time.Time) (queue.Change, error) {
		var all queue.Change
		for _, t := range tokens {
			c, err := m.q.locked(now, m.sub, t, func() (queue.Change, error) { return d.apply(m.q.q, now, m.sub, t) })
			all = append(all, c...)
			if err != nil {
				return all, err
			}
		}
		return all, nil
	})
	if err != nil {
		return amqp.Response{}, err
	}
	return success(nil)
}
