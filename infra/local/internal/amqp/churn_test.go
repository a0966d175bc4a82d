package amqp_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"

	goamqp "github.com/Azure/go-amqp"
)

// churnService counts what it opened.
type churnService struct {
	fakeService
	payload []byte
	mu      sync.Mutex
	sources []*fakeSource
	sinks   []*fakeSink
}

func (s *churnService) OpenSink(context.Context, amqp.Attach) (amqp.Sink, amqp.LinkOptions, error) {
	sink := newSink()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sinks = append(s.sinks, sink)
	return sink, amqp.LinkOptions{}, nil
}

func (s *churnService) OpenSource(ctx context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	source := newSource()
	for i := range 20 {
		source.queue = append(source.queue, amqp.Delivery{Tag: []byte{byte(i)}, Payload: s.payload})
	}
	// The service detaches when a message is released.
	source.onSettle = func(o amqp.Outcome) error {
		if o.Kind == amqp.Released {
			out.Detach(amqp.Errorf(amqp.CondDetachForced, "enough"))
		}
		return nil
	}
	s.mu.Lock()
	s.sources = append(s.sources, source)
	s.mu.Unlock()
	return source.open(ctx, a, out)
}

// Links, sessions and connections end in every way while messages go on; each
// Sink and Source is closed once.
func TestChurn(t *testing.T) {
	t.Parallel()
	service := &churnService{payload: encode(t, goamqp.NewMessage([]byte("x")))}
	address := serve(t, service, amqp.Options{CloseTimeout: 1})
	var group sync.WaitGroup
	for range 2 {
		conn := dial(t, address)
		for worker := range 4 {
			group.Go(func() {
				for round := range 12 {
					if err := churn(testContext(t), conn, round+worker); err != nil {
						t.Errorf("round %d: %v", round, err)
					}
				}
			})
		}
	}
	group.Wait()
	for i, source := range service.sources {
		wait(t, fmt.Sprintf("source %d closed", i), source.closed)
		if source.closes != 1 {
			t.Errorf("source %d closed %d times", i, source.closes)
		}
	}
	for i, sink := range service.sinks {
		wait(t, fmt.Sprintf("sink %d closed", i), sink.closed)
		if sink.closes != 1 {
			t.Errorf("sink %d closed %d times", i, sink.closes)
		}
	}
}

// churn has a session with a link in each direction end in one of four ways.
func churn(ctx context.Context, conn *goamqp.Conn, way int) error {
	session, err := conn.NewSession(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	sender, err := session.NewSender(ctx, "orders", nil)
	if err != nil {
		return fmt.Errorf("attach sender: %w", err)
	}
	receiver, err := session.NewReceiver(ctx, "orders", &goamqp.ReceiverOptions{Credit: 5, SettlementMode: goamqp.ReceiverSettleModeSecond.Ptr()})
	if err != nil {
		return fmt.Errorf("attach receiver: %w", err)
	}
	for range 3 {
		if err := sender.Send(ctx, goamqp.NewMessage([]byte("x")), nil); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		m, err := receiver.Receive(ctx, nil)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		if err := receiver.AcceptMessage(ctx, m); err != nil {
			return fmt.Errorf("accept: %w", err)
		}
	}
	switch way % 4 {
	case 0:
		err = receiver.Close(ctx)
	case 1:
		m, receiveErr := receiver.Receive(ctx, nil)
		if receiveErr != nil {
			return fmt.Errorf("receive: %w", receiveErr)
		}
		// The link may end before the settlement is confirmed.
		_ = receiver.ReleaseMessage(ctx, m)
		for err == nil {
			_, err = receiver.Receive(ctx, nil)
		}
		err = nil
	case 2:
		err = sender.Close(ctx)
	}
	if err != nil {
		return fmt.Errorf("end in way %d: %w", way%4, err)
	}
	if err := session.Close(ctx); err != nil {
		return fmt.Errorf("end: %w", err)
	}
	return nil
}
