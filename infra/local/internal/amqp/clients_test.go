package amqp

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
)

// What clients in other languages do, and go-amqp never does.

// requestTo is a request as a data section: what matters is in the properties.
func requestTo(t *testing.T, id uint64, replyTo any) []byte {
	t.Helper()
	b, err := appendValue([]byte{0, 0x53, descProperties}, []any{id, nil, nil, nil, replyTo})
	if err != nil {
		t.Fatal(err)
	}
	return append(b, 0, 0x53, descValue, codeNull)
}

// rpcAttach is a link to or from a node, of a name, whose own address is peer.
func rpcAttach(handle uint32, r role, name, node, peer string) *attachFrame {
	a := &attachFrame{name: name, handle: handle, role: r, source: &terminus{address: peer}, target: &terminus{address: node}}
	if r == roleReceiver {
		a.source, a.target = a.target, a.source
	}
	return a
}

func creditFor(handle, credit uint32) *flowFrame {
	return &flowFrame{nextIncomingID: some(0), incomingWindow: 1000, handle: some(handle), linkCredit: some(credit)}
}

// reply passes over other frames to the next transfer, and returns the handle
// and the correlation-id.
func (p *rawPeer) reply() (uint32, any) {
	p.t.Helper()
	for {
		f, err := p.frames.next()
		if err != nil {
			p.t.Fatalf("read frame: %v", err)
		}
		if len(f.body) == 0 {
			continue
		}
		v, payload, err := p.scratch.decode(f.body)
		if err != nil {
			p.t.Fatalf("decode frame: %v", err)
		}
		switch v := v.(type) {
		case *transferFrame:
			d := decoder{b: payload}
			if code := d.descriptor(); code != descProperties {
				p.t.Fatalf("the reply begins with section 0x%x", code)
			}
			return v.handle, d.value(0).([]any)[5]
		case *dispositionFrame:
			if v.state.outcome.Kind != Accepted {
				p.t.Fatalf("the request was answered %+v", v.state.outcome.Error)
			}
		case *detachFrame, *endFrame, *closeFrame:
			p.t.Fatalf("got %s %+v", name(v), v)
		}
	}
}

func TestRepliesFindTheirLink(t *testing.T) {
	t.Parallel()
	p := begun(t, discardService{}, Options{})
	p.send(
		rpcAttach(0, roleSender, "requests", "orders/$management", ""),
		rpcAttach(1, roleReceiver, "by-address", "orders/$management", "my address"),
		rpcAttach(2, roleReceiver, "by-name", "orders/$management", ""),
		rpcAttach(3, roleReceiver, "latest", "ORDERS/$management", ""),
		rpcAttach(4, roleReceiver, "another node", "bills/$management", "bills address"),
		creditFor(1, 10), creditFor(2, 10), creditFor(3, 10), creditFor(4, 10),
	)
	for i, c := range []struct {
		replyTo any
		want    uint32
	}{
		{"my address", 1}, {"by-name", 2}, {nil, 3}, {"nobody", 3}, {"bills address", 3}, {int32(7), 3},
	} {
		p.write(encoded(t, frameAMQP, 0, transferOf(0, uint32(i)), requestTo(t, uint64(i), c.replyTo)...))
		// Our handles are given out in the order of the attaches.
		if handle, id := p.reply(); handle != c.want || id != uint64(i) {
			t.Errorf("reply to %v came on link %d for %v, want link %d", c.replyTo, handle, id, c.want)
		}
	}
}

// A link in another session gets only the replies that name it.
func TestRepliesStayInTheirSession(t *testing.T) {
	t.Parallel()
	p := begun(t, discardService{}, Options{})
	p.send(rpcAttach(0, roleReceiver, "first", cbsAddress, ""), creditFor(0, 10))
	p.write(encoded(t, frameAMQP, 1, beginRequest()), encoded(t, frameAMQP, 1, rpcAttach(0, roleSender, "s", cbsAddress, "")))
	p.write(encoded(t, frameAMQP, 1, transferOf(0, 0), requestTo(t, 1, nil)...))
	for {
		d, ok := p.next().(*dispositionFrame)
		if !ok {
			continue
		}
		if d.state.outcome.Kind != Rejected || d.state.outcome.Error.Condition != CondNotFound {
			t.Fatalf("disposition %+v", d)
		}
		break
	}
	p.write(encoded(t, frameAMQP, 1, transferOf(0, 1), requestTo(t, 2, "first")...))
	if _, id := p.reply(); id != uint64(2) {
		t.Errorf("reply for %v", id)
	}
}

// Links and the requests on them may come in one go: each frame takes effect
// before the next.
func TestRequestsRightBehindTheirLinks(t *testing.T) {
	t.Parallel()
	p := rawServe(t, discardService{}, Options{})
	begin := beginRequest()
	begin.handleMax, begin.incomingWindow = 1000, 10_000
	const pairs = 300
	all := append([]byte{}, headerAMQP[:]...)
	all = append(all, encoded(t, frameAMQP, 0, openRequest())...)
	all = append(all, encoded(t, frameAMQP, 0, begin)...)
	for i := range uint32(pairs) {
		node := fmt.Sprintf("q%d/$management", i)
		for _, f := range []performative{
			rpcAttach(2*i, roleSender, fmt.Sprint("s", i), node, ""), rpcAttach(2*i+1, roleReceiver, fmt.Sprint("r", i), node, ""), creditFor(2*i+1, 5),
		} {
			all = append(all, encoded(t, frameAMQP, 0, f)...)
		}
		all = append(all, encoded(t, frameAMQP, 0, transferOf(2*i, i), requestTo(t, uint64(i), nil)...)...)
	}
	wrote := make(chan error, 1)
	go func() { // beside the replies: neither side waits for the other
		_, err := p.conn.Write(all)
		wrote <- err
	}()
	p.expectHeader(headerAMQP)
	seen := map[any]bool{}
	for range pairs {
		_, id := p.reply()
		seen[id] = true
	}
	if err := <-wrote; err != nil || len(seen) != pairs {
		t.Errorf("replies to %d requests, want %d; write: %v", len(seen), pairs, err)
	}
}

// A sender that waits for the settlement gets it in mode second, too.
func TestSecondModeIsSettled(t *testing.T) {
	t.Parallel()
	p := begun(t, discardService{}, Options{})
	a := attachRequest(0, roleSender)
	a.rcvSettleMode = rcvSecond
	p.send(a)
	if got := expect[*attachFrame](p); got.rcvSettleMode != rcvSecond {
		t.Errorf("attach %+v", got)
	}
	expect[*flowFrame](p)
	p.send(transferOf(0, 0))
	if got := expect[*dispositionFrame](p); !got.settled || got.state.outcome.Kind != Accepted {
		t.Errorf("disposition %+v", got)
	}
}

// A message that is too large is rejected, in however many frames it comes, and
// the link goes on.
func TestTooLargeIsRejected(t *testing.T) {
	t.Parallel()
	p := attached(t, roleSender, smallService{}, Options{MaxBuffered: 250_000})
	for id := range uint32(5) { // what is dropped takes no room
		more := transferOf(0, 2*id)
		more.more = true
		for range 4 {
			p.write(encoded(t, frameAMQP, 0, more, make([]byte, 60_000)...))
		}
		p.send(transferOf(0, 2*id), transferOf(0, 2*id+1))
		got := expect[*dispositionFrame](p)
		if !got.settled || got.first != 2*id || got.state.outcome.Kind != Rejected || got.state.outcome.Error.Condition != CondMessageSizeExceeded {
			t.Fatalf("disposition %+v", got)
		}
		if got := expect[*dispositionFrame](p); got.first != 2*id+1 || got.state.outcome.Kind != Accepted {
			t.Fatalf("disposition %+v", got)
		}
	}
	large := transferOf(0, 10)
	large.settled, large.more = true, true
	p.write(encoded(t, frameAMQP, 0, large, make([]byte, 60_000)...))
	large.more = false
	p.write(encoded(t, frameAMQP, 0, large, make([]byte, 60_000)...))
	if got := expect[*detachFrame](p).err; got == nil || got.Condition != CondMessageSizeExceeded {
		t.Errorf("detached with %v", got)
	}
}

// Composites have all their fields.
func TestAllFieldsAreSent(t *testing.T) {
	t.Parallel()
	problem := Errorf(CondNotFound, "")
	for _, c := range []struct {
		p    performative
		want uint32
	}{
		{openRequest(), 10}, {beginRequest(), 8}, {attachRequest(0, roleSender), 14}, {&flowFrame{}, 11}, {transferOf(0, 0), 11},
		{&dispositionFrame{}, 6}, {&detachFrame{}, 3}, {&endFrame{}, 1}, {&closeFrame{}, 1}, {&saslOutcome{}, 2},
	} {
		b, err := c.p.append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := binary.BigEndian.Uint32(b[8:]); b[3] != codeList32 || got != c.want {
			t.Errorf("%s has %d fields, want %d", name(c.p), got, c.want)
		}
	}
	b, err := (&endFrame{err: problem}).append(nil)
	if got := binary.BigEndian.Uint32(b[12+8:]); err != nil || got != 3 {
		t.Errorf("an error has %d fields, %v", got, err)
	}
}

// attachService keeps what links are attached with.
type attachService struct {
	discardService
	attaches chan Attach
}

func (s attachService) OpenSource(_ context.Context, a Attach, _ Outgoing) (Source, LinkOptions, error) {
	s.attaches <- a
	return discardSource{}, LinkOptions{Capabilities: []string{"offered"}}, nil
}

// A link that a peer would resume has a map of deliveries whose keys are binary;
// pyamqp sends symbols of filters as binary.
func TestAttachWithUnsettledMap(t *testing.T) {
	t.Parallel()
	service := attachService{attaches: make(chan Attach, 1)}
	p := begun(t, service, Options{})
	a := attachRequest(0, roleReceiver)
	a.desired = []string{"wanted"}
	a.source.filter = map[string]any{"f": Described{Descriptor: []byte("f"), Value: "v"}}
	c := beginComposite(nil, descAttach)
	c.string(a.name)
	c.uint(a.handle)
	c.role(a.role)
	c.null(2)
	if err := c.terminus(a.source, descSource); err != nil {
		t.Fatal(err)
	}
	c.null(1)
	c.field()
	c.b = append(c.b, codeMap8, 6, 2, codeBinary8, 2, 1, 2, codeNull)
	c.null(4)
	c.symbols(a.desired)
	body := c.end()
	frame := append(appendFrameHeader(nil, frameAMQP, 0), body...)
	setFrameSize(frame, 0)
	p.write(frame)
	if got := expect[*attachFrame](p); len(got.offered) != 1 || got.offered[0] != "offered" {
		t.Errorf("attach %+v", got)
	}
	if got := <-service.attaches; got.Filters["f"] != "v" || len(got.Capabilities) != 1 || got.Capabilities[0] != "wanted" {
		t.Errorf("attach %+v", got)
	}
}

// What is still said about a session that has ended changes nothing.
func TestFramesBehindAnEnd(t *testing.T) {
	t.Parallel()
	p := attached(t, roleReceiver, discardService{}, Options{})
	p.send(&endFrame{}, &detachFrame{handle: 0, closed: true}, &dispositionFrame{role: roleReceiver}, creditFor(0, 1), &endFrame{}, beginRequest())
	expect[*endFrame](p)
	expect[*beginFrame](p)
}

func TestPlain(t *testing.T) {
	t.Parallel()
	for response, want := range map[string]byte{
		"\x00key\x00secret": saslOK, "someone\x00key\x00secret": saslOK,
		"\x00key\x00wrong": saslAuth, "\x00other\x00secret": saslAuth, "key": saslAuth, "": saslAuth,
	} {
		service := plainService{users: make(chan string, 1)}
		p := rawServe(t, service, Options{})
		p.write(headerSASL[:], encoded(t, frameSASL, 0, &saslInit{mechanism: "PLAIN", response: []byte(response)}))
		p.expectHeader(headerSASL)
		expect[*saslMechanisms](p)
		if got := expect[*saslOutcome](p).code; got != want {
			t.Errorf("%q: outcome %d", response, got)
		}
		if want != saslOK {
			p.expectEOF()
			continue
		}
		p.write(headerAMQP[:])
		p.expectHeader(headerAMQP)
		p.send(openRequest(), beginRequest(), attachRequest(0, roleSender))
		if got := <-service.users; got != "key" {
			t.Errorf("signed in as %q", got)
		}
	}
}

// plainService knows one key, and tells who attaches.
type plainService struct {
	discardService
	users chan string
}

func (plainService) SignIn(_ context.Context, name, password string) error {
	if name != "key" || password != "secret" {
		return Errorf(CondUnauthorizedAccess, "no")
	}
	return nil
}

func (s plainService) OpenSink(_ context.Context, a Attach) (Sink, LinkOptions, error) {
	s.users <- a.Conn.User
	return discardSink{}, LinkOptions{}, nil
}

// lateService sends, when it is told to, what is there for a drain.
type lateService struct {
	discardService
	discardSource
	out chan Outgoing
	ask chan func()
}

func (s lateService) OpenSource(_ context.Context, _ Attach, out Outgoing) (Source, LinkOptions, error) {
	s.out <- out
	return s, LinkOptions{}, nil
}

func (s lateService) Credit(_ uint32, emptied func()) {
	if emptied != nil {
		s.ask <- emptied
	}
}

// A drain lasts until the Source has sent what is there.
func TestDrainWaitsForTheSource(t *testing.T) {
	t.Parallel()
	service := lateService{out: make(chan Outgoing, 1), ask: make(chan func(), 10)}
	p := attached(t, roleReceiver, service, Options{})
	out := <-service.out
	drain := creditFor(0, 7)
	drain.drain, drain.echo = true, true
	p.send(drain)
	emptied := <-service.ask
	for i := range byte(5) {
		if !out.Send(Delivery{Tag: []byte{i}, Payload: []byte{0, 0x53, 0x75, codeBinary8, 0}}) {
			t.Fatal("no credit")
		}
	}
	for range 5 {
		expect[*transferFrame](p)
	}
	emptied()
	if got := expect[*flowFrame](p); !got.drain || got.linkCredit != some(0) || got.deliveryCount != some(7) {
		t.Errorf("flow %+v", got)
	}
	// An answer to an old question ends no later drain.
	drain.deliveryCount = some(7)
	p.send(drain)
	again := <-service.ask
	emptied()
	if !out.Send(Delivery{Tag: []byte{9}, Payload: []byte{0, 0x53, 0x75, codeBinary8, 0}}) {
		t.Fatal("the second drain has ended")
	}
	expect[*transferFrame](p)
	again()
	if got := expect[*flowFrame](p); !got.drain || got.deliveryCount != some(14) {
		t.Errorf("flow %+v", got)
	}
}

// Python's and Java's SDKs wait for the outcome that they asked for.
func TestOutcomeIsEchoed(t *testing.T) {
	t.Parallel()
	service := newOutcomeService()
	p := attached(t, roleReceiver, service, Options{})
	p.send(credit(p, 0, 10, 10))
	expect[*flowFrame](p)
	out := <-service.opened
	for id, o := range []Outcome{
		{Kind: Accepted}, {Kind: Released}, {Kind: Rejected, Error: &Error{Condition: CondDeadLetter}},
		{Kind: Modified, UndeliverableHere: true, Annotations: map[string]any{"why": "later"}}, {Kind: Accepted},
	} {
		if !out.Send(Delivery{Tag: []byte("t")}) {
			t.Fatal("not sent")
		}
		expect[*transferFrame](p)
		p.send(&dispositionFrame{role: roleReceiver, first: uint32(id), last: uint32(id), state: deliveryState{kind: stateOutcome, outcome: o}})
		got := expect[*dispositionFrame](p)
		if got.first != uint32(id) || !got.settled || got.state.outcome.Kind != o.Kind || got.state.outcome.Error != nil {
			t.Errorf("%+v is answered %+v", o, got)
		}
	}
}

// A JMS browser asks for copies.
func TestDistributionMode(t *testing.T) {
	t.Parallel()
	service := &askedService{asked: make(chan Attach, 2)}
	p := begun(t, service, Options{})
	for handle, copies := range []bool{true, false} {
		request := attachRequest(uint32(handle), roleReceiver)
		request.source.copies = copies
		p.send(request)
		expect[*attachFrame](p)
		if a := <-service.asked; a.Copies != copies {
			t.Errorf("asked %+v", a)
		}
	}
}

type askedService struct {
	discardService
	asked chan Attach
}

func (s *askedService) OpenSource(ctx context.Context, a Attach, out Outgoing) (Source, LinkOptions, error) {
	s.asked <- a
	return s.discardService.OpenSource(ctx, a, out)
}
