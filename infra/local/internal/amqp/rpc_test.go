package amqp_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
	"github.com/google/go-cmp/cmp"
)

// rpcLinks is a pair of links to a node, as the Go SDKs make them.
type rpcLinks struct {
	session  *goamqp.Session
	sender   *goamqp.Sender
	receiver *goamqp.Receiver
	replyTo  string
}

func newRPCLinks(t *testing.T, conn *goamqp.Conn, node string, credit int32) *rpcLinks {
	t.Helper()
	links := &rpcLinks{session: newSession(t, conn), replyTo: "$" + node + "$" + node + "-reply-to-1"}
	var err error
	if links.sender, err = links.session.NewSender(testContext(t), node, nil); err != nil {
		t.Fatal(err)
	}
	links.receiver, err = links.session.NewReceiver(testContext(t), node, &goamqp.ReceiverOptions{
		TargetAddress:             links.replyTo,
		Credit:                    credit,
		SettlementMode:            goamqp.ReceiverSettleModeFirst.Ptr(),
		RequestedSenderSettleMode: goamqp.SenderSettleModeSettled.Ptr(),
	})
	if err != nil {
		t.Fatal(err)
	}
	return links
}

func (l *rpcLinks) send(t *testing.T, id any, properties map[string]any, value any) {
	t.Helper()
	m := &goamqp.Message{
		Properties:            &goamqp.MessageProperties{MessageID: id, ReplyTo: &l.replyTo},
		ApplicationProperties: properties,
		Value:                 value,
	}
	if err := l.sender.Send(testContext(t), m, nil); err != nil {
		t.Fatal(err)
	}
}

func (l *rpcLinks) reply(t *testing.T) *goamqp.Message {
	t.Helper()
	return receive(t, l.receiver)
}

func putTokenProperties() map[string]any {
	return map[string]any{"operation": "put-token", "type": "servicebus.windows.net:sastoken", "name": "amqp://host/orders", "expiration": "1"}
}

func TestPutToken(t *testing.T) {
	t.Parallel()
	tokens := make(chan amqp.Token, 10)
	answers := map[string]error{
		"missing": amqp.Errorf(amqp.CondNotFound, "no entity orders"),
		"wrong":   fmt.Errorf("check: %w", amqp.Errorf(amqp.CondUnauthorizedAccess, "wrong signature")),
		"broken":  errors.New("disk full"),
	}
	service := &fakeService{putToken: func(_ context.Context, token amqp.Token) error {
		tokens <- token
		return answers[token.Value]
	}}
	conn := dial(t, serve(t, service, amqp.Options{}))
	cases := []struct {
		name       string
		properties map[string]any
		value      any
		want       int32
		text       string
		condition  string
	}{
		{"valid", putTokenProperties(), "SharedAccessSignature ...", 202, "Accepted", ""},
		{"missing entity", putTokenProperties(), "missing", 404, "no entity orders", amqp.CondNotFound},
		{"wrong signature", putTokenProperties(), "wrong", 401, "wrong signature", amqp.CondUnauthorizedAccess},
		{"other error", putTokenProperties(), "broken", 500, "disk full", amqp.CondInternalError},
		{"other operation", map[string]any{"operation": "delete-token"}, "x", 501, `operation "delete-token" of $cbs`, amqp.CondNotImplemented},
		{"no name", map[string]any{"operation": "put-token", "type": "jwt"}, "x", 400, "put-token without the property name", amqp.CondArgumentError},
		{"no type", map[string]any{"operation": "put-token", "name": "n"}, "x", 400, "put-token without the property type", amqp.CondArgumentError},
		{"no token", putTokenProperties(), int64(1), 400, "put-token whose body is no string", amqp.CondArgumentError},
	}
	for i, c := range cases {
		links := newRPCLinks(t, conn, "$cbs", 1000)
		links.send(t, fmt.Sprint("id-", i), c.properties, c.value)
		m := links.reply(t)
		if m.Properties.CorrelationID != fmt.Sprint("id-", i) {
			t.Errorf("%s: correlation-id %v", c.name, m.Properties.CorrelationID)
		}
		want := map[string]any{
			"status-code": c.want, "statusCode": c.want, "status-description": c.text, "statusDescription": c.text,
		}
		if c.condition != "" {
			want["error-condition"], want["errorCondition"] = c.condition, c.condition
		}
		if diff := cmp.Diff(want, m.ApplicationProperties); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
		if err := links.session.Close(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	got := <-tokens
	got.Conn = amqp.ConnInfo{}
	want := amqp.Token{Audience: "amqp://host/orders", Type: "servicebus.windows.net:sastoken", Value: "SharedAccessSignature ..."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSecondCBSPairIsRefused(t *testing.T) {
	t.Parallel()
	conn := dial(t, serve(t, &fakeService{}, amqp.Options{}))
	links := newRPCLinks(t, conn, "$cbs", 1)
	s := newSession(t, conn)
	_, err := s.NewSender(testContext(t), "$cbs", nil)
	if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotAllowed {
		t.Errorf("sender: %v", err)
	}
	_, err = s.NewReceiver(testContext(t), "$cbs", nil)
	if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != goamqp.ErrCondNotAllowed {
		t.Errorf("receiver: %v", err)
	}
	if err := links.session.Close(testContext(t)); err != nil {
		t.Fatal(err)
	}
	newRPCLinks(t, conn, "$cbs", 1)
}

func TestManagementRoundTrip(t *testing.T) {
	t.Parallel()
	id := goamqp.UUID{1, 2, 3}
	at := time.UnixMilli(1_700_000_000_000).UTC()
	service := &fakeService{request: func(_ context.Context, r amqp.Request) (amqp.Response, error) {
		want := map[string]any{"operation": "com.microsoft:renew-lock", "server-timeout": uint64(60_000)}
		if diff := cmp.Diff(want, r.Properties); diff != "" || r.Address != "orders/$management" || r.Conn.ID == "" {
			return amqp.Response{}, fmt.Errorf("request %+v", r)
		}
		body, _ := r.Body.(map[string]any)
		if diff := cmp.Diff([]goamqp.UUID{id}, body["lock-tokens"]); diff != "" {
			return amqp.Response{}, errors.New(diff)
		}
		return amqp.Response{Status: 200, Description: "OK", Body: map[string]any{
			"expirations": []time.Time{at}, "numbers": []int64{7}, "names": []string{"a"}, "list": []any{map[string]any{"message": []byte("m")}},
		}}, nil
	}}
	links := newRPCLinks(t, dial(t, serve(t, service, amqp.Options{})), "orders/$management", 10)
	links.send(t, "id", map[string]any{"operation": "com.microsoft:renew-lock", "server-timeout": uint(60_000)}, map[string]any{"lock-tokens": []goamqp.UUID{id}})
	m := links.reply(t)
	if m.ApplicationProperties["status-code"] != int32(200) {
		t.Fatalf("status %v", m.ApplicationProperties)
	}
	want := map[string]any{"expirations": []time.Time{at}, "numbers": []int64{7}, "names": []string{"a"}, "list": []any{map[string]any{"message": []byte("m")}}}
	if diff := cmp.Diff(any(want), m.Value); diff != "" {
		t.Error(diff)
	}
}

// Requests run side by side and answer in the order in which they finish;
// replies wait for credit.
func TestManagementConcurrently(t *testing.T) {
	t.Parallel()
	answers := map[string]chan struct{}{"0": make(chan struct{}), "1": make(chan struct{})}
	service := &fakeService{request: func(_ context.Context, r amqp.Request) (amqp.Response, error) {
		name, _ := r.Body.(string)
		<-answers[name]
		return amqp.Response{Status: 200, Body: name}, nil
	}}
	links := newRPCLinks(t, dial(t, serve(t, service, amqp.Options{})), "$management", -1)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		links.send(t, uint64(0), nil, "0")
	}()
	close(answers["1"])
	links.send(t, uint64(1), nil, "1")
	close(answers["0"])
	wait(t, "first request settled", sent)
	if err := links.receiver.IssueCredit(1); err != nil {
		t.Fatal(err)
	}
	if m := links.reply(t); m.Value != "1" || m.Properties.CorrelationID != uint64(1) {
		t.Errorf("first reply %v for %v", m.Value, m.Properties.CorrelationID)
	}
	if err := links.receiver.IssueCredit(1); err != nil {
		t.Fatal(err)
	}
	if m := links.reply(t); m.Value != "0" {
		t.Errorf("second reply %v", m.Value)
	}
}

func TestRequestRejected(t *testing.T) {
	t.Parallel()
	conn := dial(t, serve(t, &fakeService{}, amqp.Options{}))
	links := newRPCLinks(t, conn, "$management", 1)
	alone, err := newSession(t, conn).NewSender(testContext(t), "$management", nil)
	if err != nil {
		t.Fatal(err)
	}
	other := "somewhere else"
	cases := []struct {
		name    string
		sender  *goamqp.Sender
		message *goamqp.Message
		want    goamqp.ErrCond
	}{
		{"no link", alone, goamqp.NewMessage(nil), goamqp.ErrCondNotFound},
		{"no such link", alone, &goamqp.Message{Properties: &goamqp.MessageProperties{ReplyTo: &other}}, goamqp.ErrCondNotFound},
	}
	for _, c := range cases {
		err := c.sender.Send(testContext(t), c.message, nil)
		if e, ok := errors.AsType[*goamqp.Error](err); !ok || e.Condition != c.want {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	links.send(t, "id", nil, "x")
	if m := links.reply(t); m.ApplicationProperties["status-code"] != int32(501) || m.Value != nil {
		t.Errorf("reply %v %v", m.ApplicationProperties, m.Value)
	}
}

func TestResponseThatCannotBeEncoded(t *testing.T) {
	t.Parallel()
	service := &fakeService{request: func(context.Context, amqp.Request) (amqp.Response, error) {
		return amqp.Response{Status: 200, Body: struct{}{}}, nil
	}}
	links := newRPCLinks(t, dial(t, serve(t, service, amqp.Options{})), "$management", 1)
	links.send(t, "id", nil, "x")
	if m := links.reply(t); m.ApplicationProperties["status-code"] != int32(500) {
		t.Errorf("reply %v", m.ApplicationProperties)
	}
}
