package amqp

import (
	"testing"
)

func transferOf(handle, id uint32) *transferFrame {
	return &transferFrame{handle: handle, deliveryID: some(id), deliveryTag: []byte{byte(id)}, messageFormat: some(0)}
}

func TestConnectionViolations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		frame []byte
		want  string
	}{
		{"size below the header's", []byte{0, 0, 0, 7, 2, 0, 0, 0}, CondFramingError},
		{"data offset below the header's", []byte{0, 0, 0, 8, 1, 0, 0, 0}, CondFramingError},
		{"too large", []byte{0, 1, 0, 1, 2, 0, 0, 0}, CondFramingError},
		{"unknown frame type", []byte{0, 0, 0, 9, 2, 7, 0, 0, 0}, CondFramingError},
		{"no performative", []byte{0, 0, 0, 9, 2, 0, 0, 0, 0x40}, CondDecodeError},
		{"unknown performative", []byte{0, 0, 0, 12, 2, 0, 0, 0, 0, 0x53, 0x99, codeList0}, CondDecodeError},
		{"mandatory field missing", []byte{0, 0, 0, 12, 2, 0, 0, 0, 0, 0x53, descFlow, codeList0}, CondDecodeError},
		{"bytes after the performative", []byte{0, 0, 0, 13, 2, 0, 0, 0, 0, 0x53, descEnd, codeList0, 1}, CondDecodeError},
		{"no session", encoded(t, frameAMQP, 3, attachRequest(0, roleSender)), CondNotAllowed},
		{"channel above the limit", encoded(t, frameAMQP, 5000, beginRequest()), CondFramingError},
		{"second session on a channel", encoded(t, frameAMQP, 0, beginRequest()), CondNotAllowed},
		{"handle above the limit", encoded(t, frameAMQP, 0, attachRequest(5000, roleSender)), CondFramingError},
		{"second open", encoded(t, frameAMQP, 0, openRequest()), CondNotAllowed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := begun(t, discardService{}, Options{})
			p.write(c.frame)
			if got := expect[*closeFrame](p).err; got == nil || got.Condition != c.want {
				t.Fatalf("closed with %v, want %s", got, c.want)
			}
			p.send(&closeFrame{})
			p.expectEOF()
		})
	}
}

func TestSessionViolations(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		frame performative
		want  string
	}{
		{"flow without link", &flowFrame{nextIncomingID: some(0), incomingWindow: 1, handle: some(7)}, CondUnattachedHandle},
		{"transfer without link", transferOf(7, 0), CondUnattachedHandle},
		{"detach without link", &detachFrame{handle: 7, closed: true}, CondUnattachedHandle},
		{"handle in use", attachRequest(0, roleReceiver), CondHandleInUse},
		{"transfer to a link that sends", transferOf(0, 0), CondErrantLink},
		{"disposition of a reversed range", &dispositionFrame{role: roleReceiver, first: 5, last: 4}, CondInvalidField},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := attached(t, roleReceiver, discardService{}, Options{})
			p.send(c.frame)
			if got := expect[*endFrame](p).err; got == nil || got.Condition != c.want {
				t.Fatalf("ended with %v, want %s", got, c.want)
			}
			// What the peer sends before it sees our end is passed over, and
			// the channel is free after its own.
			p.send(transferOf(0, 1), &endFrame{}, beginRequest())
			expect[*beginFrame](p)
		})
	}
}

// A connection that holds too much does not extend its sessions' windows until
// the Sink is done.
func TestWindowViolation(t *testing.T) {
	t.Parallel()
	service := &holdingService{}
	p := attached(t, roleSender, service, Options{SessionWindow: 4, MaxBuffered: 1000})
	p.write(encoded(t, frameAMQP, 0, transferOf(0, 0), make([]byte, 600)...))
	for id := range uint32(3) {
		p.send(transferOf(0, id+1))
	}
	p.send(&flowFrame{nextIncomingID: some(0), incomingWindow: 9, nextOutgoingID: 4, echo: true})
	if got := expect[*flowFrame](p); got.incomingWindow != 0 || got.nextIncomingID != some(4) {
		t.Fatalf("flow %+v", got)
	}
	service.finish()
	if got := expect[*dispositionFrame](p); got.first != 0 || got.last != 3 {
		t.Errorf("disposition %+v", got)
	}
	if got := expect[*flowFrame](p); got.incomingWindow != 4 {
		t.Fatalf("flow %+v", got)
	}
	p.write(encoded(t, frameAMQP, 0, transferOf(0, 4), make([]byte, 600)...))
	for id := range uint32(4) {
		p.send(transferOf(0, id+5))
	}
	if got := expect[*endFrame](p).err; got == nil || got.Condition != CondWindowViolation {
		t.Errorf("ended with %v", got)
	}
	service.finish()
}

func TestIncompleteMessagesAreBounded(t *testing.T) {
	t.Parallel()
	p := attached(t, roleSender, discardService{}, Options{MaxBuffered: 2})
	first := transferOf(0, 0)
	first.more = true
	for range 3 {
		p.write(encoded(t, frameAMQP, 0, first, 'x'))
	}
	if got := expect[*closeFrame](p).err; got == nil || got.Condition != CondResourceLimitExceeded {
		t.Errorf("closed with %v", got)
	}
}

func TestLinkViolations(t *testing.T) {
	t.Parallel()
	untagged, other := transferOf(0, 0), transferOf(0, 9)
	untagged.deliveryTag = nil
	first := transferOf(0, 0)
	first.more = true
	cases := []struct {
		name   string
		frames [][]byte
		want   string
	}{
		{"no tag", [][]byte{encoded(t, frameAMQP, 0, untagged)}, CondInvalidField},
		{"two deliveries at once", [][]byte{encoded(t, frameAMQP, 0, first), encoded(t, frameAMQP, 0, other)}, CondNotAllowed},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := attached(t, roleSender, smallService{}, Options{})
			p.write(c.frames...)
			got := expect[*detachFrame](p)
			if !got.closed || got.err == nil || got.err.Condition != c.want {
				t.Fatalf("detached with %+v, want %s", got, c.want)
			}
			// Our detach is answered, that answer is not, the handle is free.
			p.send(&detachFrame{handle: 0, closed: true}, attachRequest(0, roleSender))
			expect[*attachFrame](p)
		})
	}
}

func TestTransferWithoutCredit(t *testing.T) {
	t.Parallel()
	p := attached(t, roleSender, stuckService{}, Options{})
	for id := range uint32(3) {
		p.send(transferOf(0, id))
	}
	if got := expect[*detachFrame](p).err; got == nil || got.Condition != CondTransferLimitExceeded {
		t.Errorf("detached with %v", got)
	}
}
