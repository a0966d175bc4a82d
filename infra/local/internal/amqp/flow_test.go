package amqp

import (
	"context"
	"sync"
	"testing"
	"time"
)

func TestRemaining(t *testing.T) {
	t.Parallel()
	cases := []struct{ window, sent, seen, want uint32 }{
		{10, 0, 0, 10},
		{10, 4, 4, 10},
		{10, 7, 4, 7},
		{10, 14, 4, 0},
		{10, 20, 4, 0},
		{10, 1, ^uint32(0), 8},             // the numbers wrap around
		{^uint32(0), 5, 0, ^uint32(0) - 5}, // a peer without a limit
		{10, 4, 5, 10},                     // a peer ahead of us
	}
	for _, c := range cases {
		if got := remaining(c.window, c.sent, c.seen); got != c.want {
			t.Errorf("remaining(%d, %d, %d) = %d, want %d", c.window, c.sent, c.seen, got, c.want)
		}
	}
}

func TestEcho(t *testing.T) {
	t.Parallel()
	p := attached(t, roleSender, discardService{}, Options{SessionWindow: 50})
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, echo: true})
	if got := expect[*flowFrame](p); got.handle.ok || got.nextIncomingID != some(0) || got.incomingWindow != 50 || got.echo {
		t.Errorf("flow %+v", got)
	}
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, handle: some(0), deliveryCount: some(0), echo: true})
	if got := expect[*flowFrame](p); got.handle != some(0) || got.linkCredit != some(1000) || got.echo {
		t.Errorf("flow %+v", got)
	}
}

// queueService is a Source that the test sends through.
type queueService struct {
	discardService
	opened chan Outgoing
	closed chan struct{}
	mu     sync.Mutex
	tags   []string
}

func newQueueService() *queueService {
	return &queueService{opened: make(chan Outgoing, 10), closed: make(chan struct{}, 10)}
}

func (s *queueService) OpenSource(_ context.Context, _ Attach, out Outgoing) (Source, LinkOptions, error) {
	s.opened <- out
	return s, LinkOptions{}, nil
}

func (s *queueService) Credit(uint32, func()) {}

func (s *queueService) Settle(tag []byte, _ Outcome, done func(error)) {
	s.mu.Lock()
	s.tags = append(s.tags, string(tag))
	s.mu.Unlock()
	done(nil)
}

func (s *queueService) Close() { s.closed <- struct{}{} }

func credit(p *rawPeer, handle, window, n uint32) *flowFrame {
	return &flowFrame{nextIncomingID: some(0), incomingWindow: window, handle: some(handle), deliveryCount: some(0), linkCredit: some(n), echo: true}
}

// Deliveries wait for the peer's session window and go out frame by frame.
func TestPeerWindow(t *testing.T) {
	t.Parallel()
	service := newQueueService()
	p := rawServe(t, service, Options{})
	p.write(headerAMQP[:])
	p.expectHeader(headerAMQP)
	open := openRequest()
	open.maxFrameSize = 512
	p.send(open, beginRequest(), attachRequest(0, roleReceiver))
	expect[*openFrame](p)
	expect[*beginFrame](p)
	expect[*attachFrame](p)
	out := <-service.opened
	if out.Send(Delivery{Tag: []byte("early")}) {
		t.Error("sent without credit")
	}
	p.send(credit(p, 0, 2, 10))
	expect[*flowFrame](p)
	if !out.Send(Delivery{Tag: []byte("tag"), Payload: make([]byte, 1000)}) {
		t.Fatal("not sent with credit")
	}
	first := *expect[*transferFrame](p)
	if !first.more || first.deliveryID != some(0) || string(first.deliveryTag) != "tag" || first.messageFormat != some(0) || first.settled {
		t.Errorf("first frame %+v", first)
	}
	if second := expect[*transferFrame](p); !second.more || second.deliveryID.ok {
		t.Errorf("second frame %+v", second)
	}
	// The window is used up: the echo comes before the third frame.
	p.send(&flowFrame{nextIncomingID: some(2), incomingWindow: 0, echo: true})
	expect[*flowFrame](p)
	p.send(&flowFrame{nextIncomingID: some(2), incomingWindow: 5})
	if third := expect[*transferFrame](p); third.more {
		t.Errorf("third frame %+v", third)
	}
}

// One disposition settles deliveries of two links, of an ended one, and ids
// that never were.
func TestDispositionRange(t *testing.T) {
	t.Parallel()
	service := newQueueService()
	p := begun(t, service, Options{})
	var outs []Outgoing
	for handle := range uint32(3) {
		request := attachRequest(handle, roleReceiver)
		request.rcvSettleMode = rcvSecond
		p.send(request)
		expect[*attachFrame](p)
		outs = append(outs, <-service.opened)
		p.send(credit(p, handle, 100, 10))
		expect[*flowFrame](p)
	}
	for i, tag := range []string{"a0", "b0", "c0", "a1", "b1", "c1"} {
		if !outs[i%3].Send(Delivery{Tag: []byte(tag)}) {
			t.Fatal("not sent")
		}
		expect[*transferFrame](p)
	}
	p.send(&detachFrame{handle: 1, closed: true})
	expect[*detachFrame](p)
	p.send(&dispositionFrame{role: roleReceiver, first: 0, last: 1 << 30, state: accepted})
	var settled []uint32
	for len(settled) < 4 {
		d := expect[*dispositionFrame](p)
		if d.role != roleSender || !d.settled || d.state.outcome.Kind != Accepted {
			t.Errorf("disposition %+v", d)
		}
		for id := d.first; id <= d.last; id++ {
			settled = append(settled, id)
		}
	}
	service.mu.Lock()
	defer service.mu.Unlock()
	if got := len(service.tags); got != 4 {
		t.Errorf("settled %v", service.tags)
	}
	for _, id := range settled {
		if id == 1 || id == 4 {
			t.Errorf("answered for delivery %d of the ended link", id)
		}
	}
}

func TestLinkAttachedAgainStealsIt(t *testing.T) {
	t.Parallel()
	p := attached(t, roleReceiver, discardService{}, Options{})
	again := attachRequest(1, roleReceiver)
	again.name = "a"
	p.send(again)
	if got := expect[*detachFrame](p); got.handle != 0 || got.err == nil || got.err.Condition != CondLinkStolen {
		t.Errorf("detach %+v", got)
	}
	if got := expect[*attachFrame](p); got.name != "a" || got.handle != 1 {
		t.Errorf("attach %+v", got)
	}
}

// A peer that does not read is dropped, and no one else waits for it.
func TestSlowReaderIsDropped(t *testing.T) {
	t.Parallel()
	service := newQueueService()
	slow := attached(t, roleReceiver, service, Options{WriteTimeout: 300 * time.Millisecond, LinkBuffer: 16 << 20})
	out := <-service.opened
	slow.send(credit(slow, 0, 1<<20, 1<<20))
	expect[*flowFrame](slow)
	payload := make([]byte, 1<<20)
	for sent := 0; out.Send(Delivery{Tag: []byte("t"), Payload: payload}); sent++ {
		if sent > 1000 {
			t.Fatal("the queue of a peer that does not read has no end")
		}
	}
	quick := rawDial(t, slow.conn.RemoteAddr().String())
	quick.write(headerAMQP[:])
	quick.expectHeader(headerAMQP)
	quick.send(openRequest(), beginRequest(), attachRequest(0, roleReceiver))
	expect[*openFrame](quick)
	expect[*beginFrame](quick)
	expect[*attachFrame](quick)
	other := <-service.opened
	quick.send(credit(quick, 0, 100, 100))
	expect[*flowFrame](quick)
	for range 50 {
		if !other.Send(Delivery{Tag: []byte("t"), Payload: []byte("x")}) {
			t.Fatal("not sent")
		}
		expect[*transferFrame](quick)
	}
	<-service.closed // the link of the slow peer, with its connection
	if out.Send(Delivery{Tag: []byte("t")}) {
		t.Error("sent on a connection that was dropped")
	}
}
