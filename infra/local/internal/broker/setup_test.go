package broker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	goamqp "github.com/Azure/go-amqp"
	"go.uber.org/goleak"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testKeyName = "RootManageSharedAccessKey"
	testKey     = "secret"
)

var conn = amqp.ConnInfo{ID: "1", Hostname: "localhost"}

func testConfig() Config {
	return Config{
		KeyName: testKeyName, Key: testKey,
		Queues: []QueueConfig{{Name: "Orders"}},
		Hubs:   []HubConfig{{Name: "Hub", Partitions: 2, ConsumerGroups: []string{"Relay"}}},
	}
}

// open makes a broker that is closed at the end of the test, with tokens put
// for all its entities.
func open(t *testing.T, cfg Config, s store.Store) *Broker {
	t.Helper()
	b, err := New(cfg, s, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("new: %v", err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	admit(t, b)
	return b
}

// admit puts tokens for all entities of testConfig on conn.
func admit(tb testing.TB, b *Broker) {
	tb.Helper()
	for _, entity := range []string{"orders", "hub"} {
		audience := "amqp://localhost/" + entity
		if err := b.PutToken(tb.Context(), amqp.Token{
			Conn: conn, Audience: audience, Type: tokenTypeSAS, Value: sas(audience, testKey, time.Now().Add(time.Hour)),
		}); err != nil {
			tb.Fatalf("put token: %v", err)
		}
	}
}

// sas signs as the SDKs do.
func sas(audience, key string, until time.Time) string {
	sr := strings.ToLower(url.QueryEscape(audience))
	se := fmt.Sprint(until.Unix())
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(sr + "\n" + se))
	sig := url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%s&skn=%s", sr, sig, se, testKeyName)
}

// peer is the far end of a receiving link.
type peer struct {
	t      *testing.T
	source amqp.Source

	mu       sync.Mutex
	credit   int
	got      []amqp.Delivery
	detached *amqp.Error
	refuse   bool          // Send says no whatever the credit
	refused  int           // how often it did
	news     chan struct{} // has room for one
}

func newPeer(t *testing.T) *peer { return &peer{t: t, news: make(chan struct{}, 1)} }

func (p *peer) Send(d amqp.Delivery) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.tell()
	if p.refuse || p.credit == 0 || p.detached != nil {
		p.refused++
		return false
	}
	p.credit--
	p.got = append(p.got, d)
	return true
}

func (p *peer) Detach(e *amqp.Error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.detached = e
	p.tell()
}

// ended returns with what the link was detached.
func (p *peer) ended() *amqp.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.detached
}

func (p *peer) tell() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// give sets the credit, as a flow frame does.
func (p *peer) give(n int) {
	p.mu.Lock()
	p.credit = n
	p.mu.Unlock()
	p.source.Credit(uint32(n), nil)
}

// wait waits until ok holds of p, whose mu is held meanwhile.
func (p *peer) wait(what string, ok func() bool) {
	p.t.Helper()
	deadline := time.After(2 * time.Minute)
	for {
		p.mu.Lock()
		done := ok()
		p.mu.Unlock()
		if done {
			return
		}
		select {
		case <-p.news:
		case <-deadline:
			waiting, refused := p.counts()
			p.t.Fatalf("%s did not happen: %d deliveries, %d refused", what, waiting, refused)
		}
	}
}

// next waits for a delivery beyond those that were taken.
func (p *peer) next() (amqp.Delivery, *goamqp.Message) {
	p.t.Helper()
	p.wait("a delivery", func() bool { return len(p.got) > 0 })
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.got[0]
	p.got = p.got[1:]
	m := new(goamqp.Message)
	if err := m.UnmarshalBinary(d.Payload); err != nil {
		p.t.Fatalf("the delivery can't be decoded: %v", err)
	}
	return d, m
}

func (p *peer) body() string {
	p.t.Helper()
	_, m := p.next()
	return string(m.GetData())
}

// counts gives how many deliveries nobody took yet, and how many were refused.
func (p *peer) counts() (waiting, refused int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.got), p.refused
}

// settle waits for the answer to a disposition.
func (p *peer) settle(tag []byte, o amqp.Outcome) error {
	done := make(chan error, 1)
	p.source.Settle(tag, o, func(err error) { done <- err })
	return <-done
}

// receiver attaches a receiving link.
func receiver(t *testing.T, b *Broker, a amqp.Attach) *peer {
	t.Helper()
	p := newPeer(t)
	a.Conn = conn
	s, _, err := b.OpenSource(t.Context(), a, p)
	if err != nil {
		t.Fatalf("open %s: %v", a.Address, err)
	}
	p.source = s
	t.Cleanup(s.Close)
	return p
}

// transfer sends a payload and waits for the outcome.
func transfer(t *testing.T, b *Broker, address string, format uint32, payload []byte) error {
	t.Helper()
	s, _, err := b.OpenSink(t.Context(), amqp.Attach{Conn: conn, Address: address})
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	defer s.Close()
	done := make(chan error, 1)
	s.Transfer(amqp.Transfer{Format: format, Payload: payload}, func(err error) { done <- err })
	return <-done
}

func send(t *testing.T, b *Broker, address string, bodies ...string) {
	t.Helper()
	for _, body := range bodies {
		if err := transfer(t, b, address, 0, encode(t, goamqp.NewMessage([]byte(body)))); err != nil {
			t.Fatalf("send: %v", err)
		}
	}
}

func encode(t *testing.T, m *goamqp.Message) []byte {
	t.Helper()
	payload, err := m.MarshalBinary()
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return payload
}

func request(b *Broker, address, operation string, body any) (amqp.Response, error) {
	return b.Request(context.Background(), amqp.Request{
		Conn: conn, Address: address, Properties: map[string]any{"operation": operation}, Body: body,
	})
}

// wantCondition wants an error with the condition.
func wantCondition(t *testing.T, what string, err error, condition string) {
	t.Helper()
	if e, ok := err.(*amqp.Error); !ok || e.Condition != condition {
		t.Errorf("%s: got %v, want %s", what, err, condition)
	}
}
