package broker

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A Broker serves queues and hubs. It is safe for concurrent use.
type Broker struct {
	cfg    Config
	log    *slog.Logger
	now    func() time.Time
	queues map[string]*queueNode // by name in lower case, as all such maps
	grants grants
	store  store.Store

	mu   sync.RWMutex // guards hubs
	hubs map[string]*hub

	dying    sync.WaitGroup // deaths under way
	changing sync.Mutex     // held while hubs are closed or recreated
	closed   bool           // guarded by changing
}

var _ amqp.Service = (*Broker)(nil)

// New makes a Broker and recovers what the store has of its entities; records
// of entities that cfg doesn't name are left alone. The store stays the
// caller's, who closes it after the Broker.
func New(cfg Config, s store.Store, log *slog.Logger) (*Broker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, fmt.Errorf("broker: configuration: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	b := &Broker{
		cfg: cfg, log: log, now: cfg.Now,
		queues: make(map[string]*queueNode), hubs: make(map[string]*hub), store: s,
		grants: grants{until: make(map[grant]time.Time)},
	}
	for _, c := range cfg.Queues {
		q, err := openQueue(c.withDefaults(), s, b.now, log)
		if err != nil {
			return nil, fmt.Errorf("broker: queue %s: %w", c.Name, err)
		}
		q.faults = cfg.Faults
		b.queues[strings.ToLower(c.Name)] = q
	}
	for _, c := range cfg.Hubs {
		h, err := openHub(c.withDefaults(), s, b.now(), b.now, log)
		if err != nil {
			return nil, fmt.Errorf("broker: event hub %s: %w", c.Name, err)
		}
		b.hubs[strings.ToLower(c.Name)] = h
	}
	// Only now: a failure above leaves nothing running.
	for _, q := range b.queues {
		q.start()
	}
	for _, h := range b.hubs {
		h.start()
	}
	return b, nil
}

// Close stops the timers and waits until everything that was taken is kept.
// Close the Server first: what comes after Close is refused. Closing again does
// nothing.
func (b *Broker) Close() error {
	for _, q := range b.queues {
		q.close(errClosed)
	}
	b.dying.Wait()
	b.changing.Lock()
	defer b.changing.Unlock()
	b.closed = true
	for _, h := range b.hubs { // only who holds changing changes it
		h.close(errClosed)
	}
	return nil
}

// ConnectionString is for the SDKs, in the emulators' documented form; addr is
// the host:port that the Server listens on. It serves queues and hubs alike.
func (b *Broker) ConnectionString(addr string) string {
	return fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s;UseDevelopmentEmulator=true",
		addr, b.cfg.KeyName, b.cfg.Key)
}

// OpenSink implements [amqp.Service].
func (b *Broker) OpenSink(ctx context.Context, a amqp.Attach) (amqp.Sink, amqp.LinkOptions, error) {
	segs := path(a.Address)
	if !b.known(segs) {
		return nil, amqp.LinkOptions{}, noEntity(a.Address)
	}
	if err := b.authorized(a.Conn, segs[0]); err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	client := b.mortal(ctx, a.Conn, segs[0])
	if q, ok := b.queues[segs[0]]; ok {
		if len(segs) > 1 {
			return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotAllowed, "Nothing can be sent to '%s'", a.Address)
		}
		sink, err := b.serviceBusFaults(segs[0]).sink(&queueSink{q: q, client: client})
		return sink, amqp.LinkOptions{MaxMessageSize: uint64(q.cfg.MaxMessageBytes)}, err
	}
	if slices.Contains(a.Capabilities, idempotentCapability) {
		return nil, amqp.LinkOptions{}, amqp.Errorf(amqp.CondNotImplemented, "Idempotent producers are not emulated")
	}
	h, _ := b.hub(segs[0]) // it is known
	sink, err := h.openSink(segs[1:], a.Address, client)
	if err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	sink, err = b.eventHubsFaults(segs[0]).sink(sink)
	return sink, amqp.LinkOptions{MaxMessageSize: maxEventBytes}, err
}

// OpenSource implements [amqp.Service].
func (b *Broker) OpenSource(_ context.Context, a amqp.Attach, out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
	segs := path(a.Address)
	if !b.known(segs) {
		return nil, amqp.LinkOptions{}, noEntity(a.Address)
	}
	if err := b.authorized(a.Conn, segs[0]); err != nil {
		return nil, amqp.LinkOptions{}, err
	}
	if q, sub, ok := b.queueAt(segs); ok {
		return b.serviceBusFaults(segs[0]).source(out, func(out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
			return q.openSource(sub, a, out)
		})
	}
	return b.eventHubsFaults(segs[0]).source(out, func(out amqp.Outgoing) (amqp.Source, amqp.LinkOptions, error) {
		h, _ := b.hub(segs[0]) // it is known
		return h.openSource(segs[1:], a, out)
	})
}
