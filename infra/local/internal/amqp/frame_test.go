package amqp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// performatives are one of each with every field that the Server knows.
func performatives() []performative {
	failure := &Error{Condition: CondNotFound, Description: "gone", Info: map[string]any{"k": int64(1)}}
	return []performative{
		&openFrame{containerID: "c", hostname: "h", maxFrameSize: 1024, channelMax: 7, idleTimeout: 30 * time.Second, properties: map[string]any{"product": "p"}},
		&beginFrame{remoteChannel: some(3), nextOutgoingID: 1, incomingWindow: 2, outgoingWindow: 3, handleMax: 4},
		&attachFrame{
			name: "n", handle: 1, role: roleReceiver, sndSettleMode: sndSettled, rcvSettleMode: rcvSecond,
			source: &terminus{address: "s", dynamic: true, filter: map[string]any{"f": Described{Descriptor: uint64(1), Value: "v"}}},
			target: &terminus{address: "t"}, initialDeliveryCount: some(5), maxMessageSize: 6, properties: map[string]any{"p": int32(1)},
		},
		&flowFrame{nextIncomingID: some(1), incomingWindow: 2, nextOutgoingID: 3, outgoingWindow: 4, handle: some(5),
			deliveryCount: some(6), linkCredit: some(7), available: some(8), drain: true, echo: true},
		&transferFrame{handle: 1, deliveryID: some(2), deliveryTag: []byte("t"), messageFormat: some(0x80013700), settled: true, more: true, aborted: true},
		&dispositionFrame{role: roleReceiver, first: 1, last: 2, settled: true, state: accepted},
		&dispositionFrame{first: 1, last: 1, state: rejected(failure)},
		&dispositionFrame{first: 1, last: 1, state: deliveryState{kind: stateOutcome, outcome: Outcome{Kind: Released}}},
		&dispositionFrame{first: 1, last: 1, state: deliveryState{kind: stateOutcome, outcome: Outcome{
			Kind: Modified, DeliveryFailed: true, UndeliverableHere: true, Annotations: map[string]any{"a": "b"}}}},
		&detachFrame{handle: 1, closed: true, err: failure},
		&endFrame{err: failure},
		&closeFrame{err: failure},
		&closeFrame{},
		&saslMechanisms{mechanisms: []string{"ANONYMOUS"}},
		&saslInit{mechanism: "ANONYMOUS"},
		&saslOutcome{code: saslAuth},
	}
}

func TestPerformativeRoundTrip(t *testing.T) {
	t.Parallel()
	exported := cmp.AllowUnexported(openFrame{}, beginFrame{}, attachFrame{}, terminus{}, flowFrame{}, transferFrame{}, dispositionFrame{},
		deliveryState{}, detachFrame{}, endFrame{}, closeFrame{}, saslMechanisms{}, saslInit{}, saslOutcome{}, optional{})
	for _, p := range performatives() {
		b, err := p.append(nil)
		if err != nil {
			t.Errorf("encode %s: %v", name(p), err)
			continue
		}
		var s scratch
		got, payload, err := s.decode(b)
		if err != nil || len(payload) > 0 {
			t.Errorf("decode %s: %v, %d bytes left", name(p), err, len(payload))
		}
		if diff := cmp.Diff(p, got, exported); diff != "" {
			t.Errorf("%s: %s", name(p), diff)
		}
	}
}

func TestSymbolicDescriptors(t *testing.T) {
	t.Parallel()
	state := append(appendSymbol([]byte{codeDescribed}, "amqp:accepted:list"), codeList0)
	fields := append([]byte{5, codeTrue, codeUint0, codeNull, codeTrue}, state...)
	b := appendSymbol([]byte{codeDescribed}, "amqp:disposition:list")
	b = append(append(b, codeList8, byte(len(fields))), fields...)
	var s scratch
	p, _, err := s.decode(b)
	if d, ok := p.(*dispositionFrame); err != nil || !ok || !d.settled || d.state.outcome.Kind != Accepted {
		t.Errorf("got %+v, %v", p, err)
	}
}

// chunks reads its bytes a few at a time.
type chunks struct {
	b      []byte
	random *rand.Rand
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.b[:1+c.random.Intn(min(len(c.b), 20))])
	c.b = c.b[n:]
	return n, nil
}

// frameLog is what a stream decodes to, as text: each performative is encoded
// again, since equal ones have equal encodings.
func frameLog(r io.Reader) []string {
	frames := newFrameReader(r, minMaxFrameSize)
	var s scratch
	var log []string
	for {
		f, err := frames.next()
		if err != nil {
			return append(log, err.Error())
		}
		p, payload, err := s.decode(f.body)
		var again []byte
		if err == nil {
			again, err = p.append(nil)
		}
		log = append(log, fmt.Sprintf("%d %d %x %x %v", f.kind, f.channel, again, payload, err))
	}
}

// FuzzFrames holds that no stream makes the Server panic, and that it does not
// matter how the stream is cut.
func FuzzFrames(f *testing.F) {
	var all []byte
	for _, p := range performatives() {
		b, err := appendFrame(nil, frameAMQP, 1, p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, int64(1))
		all = append(all, b...)
	}
	f.Add(append(all, emptyFrame...), int64(2))
	f.Fuzz(func(t *testing.T, b []byte, seed int64) {
		whole := frameLog(bytes.NewReader(b))
		split := frameLog(&chunks{b: b, random: rand.New(rand.NewSource(seed))})
		if diff := cmp.Diff(whole, split); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestFrameReaderEnds(t *testing.T) {
	t.Parallel()
	frame := encoded(t, frameAMQP, 0, &endFrame{})
	for cut := range frame {
		_, err := newFrameReader(bytes.NewReader(frame[:cut]), minMaxFrameSize).next()
		want := io.ErrUnexpectedEOF
		if cut == 0 {
			want = io.EOF
		}
		if !errors.Is(err, want) {
			t.Errorf("cut at %d: %v, want %v", cut, err, want)
		}
	}
}
