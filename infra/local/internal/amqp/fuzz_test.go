package amqp

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"

	goamqp "github.com/Azure/go-amqp"
)

// FuzzRequest holds that no request to a node makes go-amqp's decoder panic.
func FuzzRequest(f *testing.F) {
	replyTo := "r"
	for _, v := range []any{"token", map[string]any{"lock-tokens": []goamqp.UUID{{1}}, "messages": []any{map[string]any{"message": []byte("m")}}}, goamqp.Null{}} {
		m := goamqp.Message{
			Header:                &goamqp.MessageHeader{},
			DeliveryAnnotations:   goamqp.Annotations{"d": 1},
			Annotations:           goamqp.Annotations{"a": "b"},
			Properties:            &goamqp.MessageProperties{MessageID: "id", ReplyTo: &replyTo},
			ApplicationProperties: map[string]any{"operation": "put-token"},
			Value:                 v,
			Footer:                goamqp.Annotations{"f": true},
		}
		b, err := m.MarshalBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseRequest(b)
		if err != nil {
			return
		}
		if len(encodeReply(m.id, Response{Status: 200, Body: m.body})) == 0 {
			t.Error("no reply")
		}
	})
}

// FuzzConnection holds that nothing a peer sends makes the Server panic or
// leaves something running. The peer has a link in each direction, of handles 0
// and 1; the input is a list of frame bodies, each after a byte of its length.
func FuzzConnection(f *testing.F) {
	seed := func(list ...performative) {
		var all []byte
		for _, p := range list {
			b, err := p.append(nil)
			if err != nil || len(b) > 255 {
				f.Fatal(err, len(b))
			}
			all = append(append(all, byte(len(b))), b...)
		}
		f.Add(all)
	}
	rpc := attachRequest(2, roleSender)
	rpc.target.address = cbsAddress
	seed(transferOf(0, 0), transferOf(0, 1), &dispositionFrame{first: 0, last: 1, settled: true}, &detachFrame{handle: 0, closed: true}, &endFrame{}, &closeFrame{})
	seed(creditOf(3), &dispositionFrame{role: roleReceiver, first: 0, last: 9, state: accepted}, &detachFrame{handle: 1}, &endFrame{}, beginRequest())
	seed(rpc, transferOf(2, 0), rpc)
	seed(&flowFrame{nextIncomingID: some(0), incomingWindow: 1, handle: some(0), echo: true}, creditOf(9), creditOf(0))
	f.Fuzz(func(t *testing.T, b []byte) {
		l := &pipes{conns: make(chan net.Conn), done: make(chan struct{})}
		server := NewServer(eagerService{}, Options{})
		served := make(chan error, 1)
		go func() { served <- server.Serve(l) }()
		ours, theirs := net.Pipe()
		l.conns <- theirs
		p := &rawPeer{t: t, conn: ours, frames: newFrameReader(ours, 65536)}
		p.write(headerAMQP[:])
		p.expectHeader(headerAMQP)
		p.send(openRequest())
		expect[*openFrame](p)
		p.send(beginRequest())
		expect[*beginFrame](p)
		p.send(attachRequest(0, roleSender))
		expect[*attachFrame](p)
		expect[*flowFrame](p)
		p.send(attachRequest(1, roleReceiver))
		expect[*attachFrame](p)
		read := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, ours)
			read <- err
		}()
		for len(b) > 0 {
			n := min(int(b[0]), len(b)-1)
			frame := append(appendFrameHeader(nil, frameAMQP, 0), b[1:1+n]...)
			setFrameSize(frame, 0)
			if _, err := ours.Write(frame); err != nil {
				break // the Server has closed the connection
			}
			b = b[1+n:]
		}
		_ = ours.Close() // ends the reader, whose error is of no interest
		<-read
		if err := errors.Join(server.Close(), <-served); !errors.Is(err, ErrServerClosed) {
			t.Error(err)
		}
	})
}

func creditOf(n uint32) *flowFrame {
	return &flowFrame{nextIncomingID: some(0), incomingWindow: 5, handle: some(1), linkCredit: some(n), drain: n%2 == 1}
}

// eagerService sends up to 20 messages for as long as there is credit.
type eagerService struct{ discardService }

func (eagerService) OpenSource(_ context.Context, _ Attach, out Outgoing) (Source, LinkOptions, error) {
	return &eagerSource{out: out}, LinkOptions{}, nil
}

type eagerSource struct {
	discardSource
	out  Outgoing
	sent int
}

func (s *eagerSource) Credit(uint32, func()) {
	for s.sent < 20 && s.out.Send(Delivery{Tag: []byte{byte(s.sent)}, Payload: make([]byte, 100)}) {
		s.sent++
	}
}
