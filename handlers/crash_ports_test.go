package main

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// withCrashPoints wraps each port whose methods have an effect. What only reads
// is passed on as it is.
func withCrashPoints(t *trigger, p ports, roles map[string]workflow.Queue) ports {
	p.producer = crashingProducer{p.producer, t}
	p.sender = crashingSender{p.sender, t, roles}
	p.backends = crashingBackends{p.backends, t}
	if p.receiver != nil {
		p.receiver = crashingReceiver{p.receiver, t}
	}
	p.transactions = crashingTransactions{p.transactions, t}
	p.requests = crashingRequests{p.requests, t}
	p.outside = crashingOutside{p.outside, t}
	p.checkpoints = crashingCheckpoints{p.checkpoints, t}
	p.quarantine = crashingQuarantine{p.quarantine, t}
	documents := p.documents
	p.documents = func(container string) business.Documents {
		return crashingDocuments{documents(container), t, container}
	}
	return p
}

// around is trigger.around for an effect that has a result.
func around[T any](t *trigger, effect string, do func() (T, error)) (T, error) {
	var result T
	err := t.around(effect, func() (err error) {
		result, err = do()
		return err
	})
	return result, err
}

type crashingProducer struct {
	ingest.Producer
	t *trigger
}

func (c crashingProducer) Send(ctx context.Context, partition string, events []ingest.Event) error {
	return c.t.around("producer.Send", func() error { return c.Producer.Send(ctx, partition, events) })
}

type crashingSender struct {
	engine.Sender
	t     *trigger
	roles map[string]workflow.Queue
}

func (c crashingSender) Send(ctx context.Context, messages ...engine.Queued) error {
	return c.t.around(sendEffect(c.roles, messages), func() error { return c.Sender.Send(ctx, messages...) })
}

type crashingBackends struct {
	engine.Backends
	t *trigger
}

func (c crashingBackends) Do(ctx context.Context, r engine.Attempt) workflow.Outcome {
	outcome, err := around(c.t, callEffect(r.Call), func() (workflow.Outcome, error) { return c.Backends.Do(ctx, r), nil })
	if err != nil {
		return workflow.Outcome{Retry: workflow.RetryNever, Effect: workflow.EffectMaybe, Message: err.Error()}
	}
	return outcome
}

type crashingReceiver struct {
	notify.Receiver
	t *trigger
}

func (c crashingReceiver) Post(ctx context.Context, e notify.CloudEvent) error {
	return c.t.around("receiver.Post", func() error { return c.Receiver.Post(ctx, e) })
}

type crashingTransactions struct {
	workflow.Store
	t *trigger
}

func (c crashingTransactions) Create(ctx context.Context, p *workflow.Progress) (string, error) {
	return around(c.t, "transactions.Create", func() (string, error) { return c.Store.Create(ctx, p) })
}

func (c crashingTransactions) Replace(ctx context.Context, p *workflow.Progress, etag string) (string, error) {
	return around(c.t, "transactions.Replace."+string(p.State), func() (string, error) { return c.Store.Replace(ctx, p, etag) })
}

type crashingRequests struct {
	ingest.Requests
	t *trigger
}

func (c crashingRequests) CreateIfAbsent(ctx context.Context, r ingest.RequestRecord) (ingest.RequestRecord, error) {
	return around(c.t, "requests.CreateIfAbsent", func() (ingest.RequestRecord, error) { return c.Requests.CreateIfAbsent(ctx, r) })
}

type crashingOutside struct {
	engine.Outside
	t *trigger
}

func (c crashingOutside) Create(ctx context.Context, o workflow.OutsideOperation) error {
	return c.t.around("outside.Create", func() error { return c.Outside.Create(ctx, o) })
}

type crashingCheckpoints struct {
	relay.Checkpoints
	t *trigger
}

func (c crashingCheckpoints) Save(ctx context.Context, p relay.Checkpoint, etag string) (string, error) {
	return around(c.t, "checkpoints.Save", func() (string, error) { return c.Checkpoints.Save(ctx, p, etag) })
}

type crashingQuarantine struct {
	quarantine.Store
	t *trigger
}

func (c crashingQuarantine) Put(ctx context.Context, e quarantine.Entry) error {
	return c.t.around("quarantine.Put", func() error { return c.Store.Put(ctx, e) })
}

func (c crashingQuarantine) Replace(ctx context.Context, e quarantine.Entry, etag string) error {
	return c.t.around("quarantine.Replace", func() error { return c.Store.Replace(ctx, e, etag) })
}

// crashingDocuments are the documents of a backend's container.
type crashingDocuments struct {
	business.Documents
	t    *trigger
	name string
}

func (c crashingDocuments) Create(ctx context.Context, partitionKey, id string, doc []byte) (string, error) {
	return around(c.t, c.name+".Create", func() (string, error) { return c.Documents.Create(ctx, partitionKey, id, doc) })
}

func (c crashingDocuments) Replace(ctx context.Context, partitionKey, id string, doc []byte, etag string) (string, error) {
	return around(c.t, c.name+".Replace", func() (string, error) { return c.Documents.Replace(ctx, partitionKey, id, doc, etag) })
}
