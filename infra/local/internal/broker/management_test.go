package broker

import (
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestManagementRefusals(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	lost := []goamqp.UUID{{1}}
	for _, c := range []struct {
		address, operation string
		body               any
		condition          string
	}{
		{"nothing/$management", "com.microsoft:peek-message", nil, amqp.CondNotFound},
		{"orders", "com.microsoft:peek-message", nil, amqp.CondNotFound},
		{"orders/$management", "com.microsoft:what", map[string]any{}, amqp.CondNotImplemented},
		{"orders/$management", "com.microsoft:peek-message", "text", amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:peek-message", map[any]any{1: 2}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:peek-message", map[any]any{}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:peek-message", map[string]any{"from-sequence-number": int64(0), "message-count": int32(0)}, amqp.CondArgumentOutOfRange},
		{"orders/$management", "com.microsoft:renew-lock", map[string]any{}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:renew-lock", map[string]any{"lock-tokens": lost}, amqp.CondMessageLockLost},
		{"orders/$management", "com.microsoft:receive-by-sequence-number", map[string]any{}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:receive-by-sequence-number", map[string]any{"sequence-numbers": []int64{7}, "receiver-settle-mode": uint32(1)}, amqp.CondMessageNotFound},
		{"orders/$management", "com.microsoft:schedule-message", map[string]any{"messages": []any{}}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:schedule-message", map[string]any{"messages": []any{map[string]any{"message": "text"}}}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:schedule-message", map[string]any{"messages": []any{map[string]any{"message": []byte("what")}}}, amqp.CondDecodeError},
		{"orders/$DeadLetterQueue/$management", "com.microsoft:schedule-message", map[string]any{}, amqp.CondNotAllowed},
		{"orders/$management", "com.microsoft:cancel-scheduled-message", map[string]any{"sequence-numbers": []int64{7}}, amqp.CondMessageNotFound},
		{"orders/$management", "com.microsoft:update-disposition", map[string]any{"lock-tokens": lost, "disposition-status": "what"}, amqp.CondInvalidField},
		{"orders/$management", "com.microsoft:update-disposition", map[string]any{"lock-tokens": lost, "disposition-status": "completed"}, amqp.CondMessageLockLost},
		{"orders/$management", "com.microsoft:get-session-state", map[string]any{}, amqp.CondNotAllowed},
		{"$management", "READ", nil, amqp.CondNotFound},
	} {
		_, err := request(b, c.address, c.operation, c.body)
		wantCondition(t, c.address+" "+c.operation, err, c.condition)
	}
}

// TestManagementSettles uses the tokens of deliveries by requests alone.
func TestManagementSettles(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	p := receiver(t, b, amqp.Attach{Address: "orders"})
	send(t, b, "orders", "a", "b", "c")
	token := func() []goamqp.UUID {
		p.give(1)
		d, _ := p.next()
		return []goamqp.UUID{guidBytes([16]byte(d.Tag))}
	}
	a, bb, c := token(), token(), token()
	ask := func(address, operation string, body map[string]any) map[string]any {
		t.Helper()
		r, err := request(b, address, operation, body)
		if err != nil || r.Status != 200 {
			t.Fatalf("%s: %+v, %v", operation, r, err)
		}
		value, _ := r.Body.(map[string]any)
		return value
	}
	renewed := ask("Orders/$management", "com.microsoft:renew-lock", map[string]any{"lock-tokens": append(a, bb...)})
	if until, ok := renewed["expirations"].([]time.Time); !ok || len(until) != 2 || time.Until(until[0]) < 30*time.Second {
		t.Errorf("renewed %v", renewed)
	}
	ask("orders/$management", "com.microsoft:update-disposition", map[string]any{
		"lock-tokens": a, "disposition-status": "suspended", "deadletter-reason": "r", "deadletter-description": "d",
		"properties-to-modify": map[string]any{"p": "q"},
	})
	ask("orders/$management", "com.microsoft:update-disposition", map[string]any{"lock-tokens": bb, "disposition-status": "defered"})
	ask("orders/$management", "com.microsoft:update-disposition", map[string]any{"lock-tokens": c, "disposition-status": "abandoned"})
	if s := b.Stats().Queues[0]; s.Active != 1 || s.Deferred != 1 || s.DeadLettered != 1 || s.Locked != 0 {
		t.Fatalf("counts %+v", s)
	}
	dead := ask("orders/$DeadLetterQueue/$management", "com.microsoft:peek-message",
		map[string]any{"from-sequence-number": int64(0), "message-count": int32(9)})
	list, ok := dead["messages"].([]any)
	if !ok || len(list) != 1 {
		t.Fatalf("dead letters %v", dead)
	}
	var m goamqp.Message
	if err := m.UnmarshalBinary(list[0].(map[string]any)["message"].([]byte)); err != nil {
		t.Fatal(err)
	}
	if a := m.ApplicationProperties; a[reasonProperty] != "r" || a[descriptionProperty] != "d" || a["p"] != "q" ||
		m.Annotations[annState] != int32(0) || m.DeliveryAnnotations != nil {
		t.Errorf("dead letter %+v", m)
	}
	deferred := ask("orders/$management", "com.microsoft:receive-by-sequence-number",
		map[string]any{"sequence-numbers": []int64{2}, "receiver-settle-mode": uint32(0)})
	if list := deferred["messages"].([]any); len(list) != 1 || list[0].(map[string]any)["lock-token"] != nil {
		t.Errorf("received and deleted %v", deferred)
	}
	if s := b.Stats().Queues[0]; s.Deferred != 0 {
		t.Errorf("counts %+v", s)
	}
}

func TestAttachRefusals(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	for address, condition := range map[string]string{
		"nothing": amqp.CondNotFound, "orders/what": amqp.CondNotFound, "": amqp.CondNotFound,
		"hub/ConsumerGroups/what/Partitions/0": amqp.CondNotFound,
	} {
		_, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: address})
		wantCondition(t, "send to "+address, err, condition)
		_, _, err = b.OpenSource(t.Context(), amqp.Attach{Conn: conn, Address: address}, newPeer(t))
		wantCondition(t, "receive from "+address, err, condition)
	}
	for address, condition := range map[string]string{
		"orders/$DeadLetterQueue": amqp.CondNotAllowed, "hub/Partitions/2": amqp.CondArgumentOutOfRange,
		"hub/ConsumerGroups/relay/Partitions/0": amqp.CondNotAllowed,
	} {
		_, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: address})
		wantCondition(t, "send to "+address, err, condition)
	}
	hub := "hub/ConsumerGroups/relay/Partitions/0"
	for name, c := range map[string]struct {
		attach    amqp.Attach
		condition string
	}{
		"hub":       {amqp.Attach{Address: "hub"}, amqp.CondNotAllowed},
		"partition": {amqp.Attach{Address: "hub/ConsumerGroups/relay/Partitions/-1"}, amqp.CondArgumentOutOfRange},
		"filter":    {amqp.Attach{Address: hub, Filters: map[string]any{selectorFilter: "what"}}, amqp.CondArgumentError},
		"beyond": {amqp.Attach{Address: hub, Filters: map[string]any{
			selectorFilter: "amqp.annotation.x-opt-offset > '5'"}}, amqp.CondArgumentOutOfRange},
		"epoch":    {amqp.Attach{Address: hub, Properties: map[string]any{epochProperty: "1"}}, amqp.CondInvalidField},
		"selector": {amqp.Attach{Address: "orders", Filters: map[string]any{"jms-selector": "colour = 'red'"}}, amqp.CondNotImplemented},
		"browser":  {amqp.Attach{Address: "orders", Copies: true}, amqp.CondNotImplemented},
		"session":  {amqp.Attach{Address: "orders", Filters: map[string]any{"com.microsoft:session-filter": nil}}, amqp.CondNotAllowed},
	} {
		c.attach.Conn = conn
		_, _, err := b.OpenSource(t.Context(), c.attach, newPeer(t))
		wantCondition(t, name, err, c.condition)
	}
}

func TestOwnerIsTold(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	attach := amqp.Attach{
		Address: "hub/ConsumerGroups/relay/Partitions/0", PeerAddress: "peer",
		Properties: map[string]any{epochProperty: int64(1), nameProperty: "first"},
	}
	first := receiver(t, b, attach)
	attach.Properties = map[string]any{epochProperty: int32(2)}
	receiver(t, b, attach)
	first.wait("the detach", func() bool { return first.detached != nil })
	wantCondition(t, "the first", first.ended(), amqp.CondLinkStolen)
	attach.Properties = nil
	attach.Conn = conn
	_, _, err := b.OpenSource(t.Context(), attach, newPeer(t))
	wantCondition(t, "without level", err, amqp.CondLinkStolen)
}
