package main

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/backendclient"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// services are what the functions call.
type services struct {
	shards     *ingest.Shards
	ingest     *ingest.Service
	progress   *ingest.Progress
	views      engine.Backends // views, asked for by clients
	relay      *relay.Service
	engine     *engine.Engine
	notify     *notify.Service
	quarantine *quarantine.Service
	operate    *operate.Service
}

// newServices builds the services on their ports.
func newServices(b business.Business, s settings.Settings, logger *slog.Logger, p ports, log ingest.Log, writerTo func(ingest.Producer, shard.Number) *ingest.Writer) (services, error) {
	run, err := newEngine(b, s, logger, p)
	if err != nil {
		return services{}, err
	}
	var out services
	ids, err := newMint(s, logger, p.now)
	if err != nil {
		return services{}, err
	}
	out.shards = ingest.NewShards(ingest.ShardsConfig{
		Maps: p.maps, Alone: shard.Alone(shard.Endpoints{Hub: s.EventHub, Database: s.Database}),
		Home: ingest.Stamp{Log: log, Transactions: p.transactions, Outside: p.outside},
		Open: func(of shard.Shard) (ingest.Stamp, error) {
			to, err := p.stamp(of)
			if err != nil {
				return ingest.Stamp{}, err
			}
			writer := writerTo(p.signals.Producer(to.producer, of.Endpoints.Hub), of.Number)
			return ingest.Stamp{Log: writer, Transactions: to.transactions, Outside: to.outside, Lasting: to.lasting, ReachHub: to.reachHub, ReachDatabase: to.reachDatabase, Close: func(ctx context.Context) error {
				return errors.Join(writer.Close(ctx), to.close(ctx))
			}}, nil
		},
		AppShard: operate.AppShard, Random: rand.Uint64, Now: p.now, Logger: logger,
	})
	known := ingest.Known{Shards: out.shards, Requests: p.requests, Mint: ids, Retention: s.Budgets.HubRetention, Now: p.now,
		Keep: s.Budgets.DocumentTTL, Ahead: b.Changeable(s.Business),
	}
	out.ingest = ingest.New(ingest.Config{
		Known: known,
		Past:  b.Workflow.Past, Now: p.now,
	})
	out.progress = ingest.NewProgress(known)
	// Limits of its own: clients who look take no place, and open no breaker, of
	// the workflow's.
	out.views = newBackendGuard(b, s, logger, p)
	out.engine = run
	out.notify = notify.New(notify.Config{
		Receiver: p.receiver, People: notify.People{Letters: b.Letters, Backends: out.views, Mailer: p.mailer, SendTimeout: s.Notify.Mail.Timeout}, Engine: run, Source: s.Notify.Source, Types: b.Events(), GiveUpAfter: s.Notify.GiveUpAfter, Log: logger,
	})
	out.quarantine = quarantine.New(quarantine.Config{
		Store: p.quarantine, Waker: run, Keep: s.Budgets.DocumentTTL, Now: p.now, Logger: logger, Kept: func(ctx context.Context, e quarantine.Entry) { p.signals.Kept(ctx, e); p.report.Kept() },
	})
	out.relay = relay.New(relay.Config{
		Shard: s.Shard, Queue: s.TransactionsQueue, Sender: p.sender, Quarantine: out.quarantine,
		Checkpoints: p.checkpoints, Reader: p.reader, Triggers: p.triggers, Process: telemetry.Process(), Hub: s.EventHub, ConsumerGroup: s.ConsumerGroup, Quiet: s.RelayQuiet,
		Runner: newRunner(s, run), Lost: p.signals.Metrics.Lost, Now: p.now, Logger: logger,
	})
	out.operate = operate.New(operate.Config{
		Engine: run, Listing: p.listing, Key: b.Key, Quarantine: p.quarantine, Hub: out.relay, Shards: out.shards, Where: known.Where, Logger: logger,
		Told: p.told, Counter: p.counter, ConsumerGroup: s.ConsumerGroup, Queues: p.queues, Lasting: known.Lasting(), TraceURL: s.Telemetry.TraceURL,
	})
	return out, nil
}

// newRunner returns what works off in Relay what the hub brings, nil if the queue gets
// it.
func newRunner(s settings.Settings, run *engine.Engine) *relay.Runner {
	if s.Scheduler.Mode == settings.SchedulerQueue {
		return nil
	}
	patient := s.Scheduler.Mode == settings.SchedulerBatch
	return &relay.Runner{
		InFlight: s.Scheduler.InFlight, Patient: patient,
		Run: func(ctx context.Context, e engine.Envelope) error {
			ctx, cancel := context.WithTimeout(observe.About(ctx, e.TransactionID, e.OperationID), s.Budgets.Invocation)
			defer cancel()
			if patient {
				return run.Schedule(ctx, e)
			}
			return run.ScheduleWithin(ctx, e, s.Scheduler.Patience)
		},
	}
}

// openGate opens what decides who may call the HTTP functions.
func openGate(s settings.Settings, logger *slog.Logger, now func() time.Time) (*auth.Gate, error) {
	return auth.OpenGate(auth.GateConfig{
		Tokens: s.Auth.Mode == settings.AuthEntra, Issuer: s.Auth.Issuer, Audiences: s.Auth.Audiences, AccountsClaim: s.Auth.AccountClaim,
		PerSecond: s.RateLimit.PerSecond, Burst: s.RateLimit.Burst, Now: now, Logger: logger,
	})
}

// newMint returns what makes ids. Without keys it makes one that nobody else has,
// which the settings allow on a developer's machine alone.
func newMint(s settings.Settings, logger *slog.Logger, now func() time.Time) (*shard.Minter, error) {
	keys, err := shard.ParseIDKeys(s.IDKeys.Reveal())
	if err == nil && len(keys) == 0 {
		if s.Functions.Has("Ingest") || s.Functions.Has("Progress") {
			logger.Warn("ids are minted with a key that only this process has: other instances reject them until they are stored; set ID_KEYS")
		}
		var key shard.IDKey
		key, err = shard.NewIDKey(0, cryptorand.Reader)
		keys = []shard.IDKey{key}
	}
	if err != nil {
		return nil, fmt.Errorf("keys of ids: %w", err)
	}
	return shard.NewMinter(keys, now, cryptorand.Reader), nil
}

// newBackendGuard returns what keeps the calls to the backends within their limits.
func newBackendGuard(b business.Business, s settings.Settings, logger *slog.Logger, p ports) *backendclient.Guard {
	own := map[string]uint{}
	for _, backend := range b.Backends {
		own[backend.Name] = backend.Concurrency
	}
	return backendclient.NewGuard(p.backends, backendclient.Limits{
		CallTimeout: s.Budgets.Call, Concurrency: s.Backends.Concurrency, Own: own,
		Breaker: s.Backends.Breaker,
	}, p.signals.Metrics, logger)
}

func newEngine(of business.Business, s settings.Settings, logger *slog.Logger, p ports) (*engine.Engine, error) {
	b := s.Budgets
	guard := newBackendGuard(of, s, logger, p)
	if err := p.signals.Metrics.Breakers(guard.Open); err != nil {
		return nil, fmt.Errorf("measure the circuit breakers: %w", err)
	}
	p.report.Breakers = guard.Open
	changed := p.signals.Changed(p.now)
	return engine.New(engine.Config{
		Definition: &of.Workflow, Shard: s.Shard, Store: p.transactions, Outside: p.outside, Backends: p.report.Calls(guard), Sender: p.signals.Wakes(p.sender),
		Queues: map[workflow.Queue]string{
			workflow.QueueTransactions: s.TransactionsQueue, workflow.QueueCompensations: s.CompensationsQueue,
			workflow.QueueNotifications: s.NotificationsQueue,
		},
		Budgets: engine.Budgets{
			CallTimeout: b.Call, StepTimeout: b.Step, InvocationTimeout: b.Invocation,
			Lease: b.Lease, SaveEvery: b.SaveEvery, LaterMin: b.LaterMin, LaterMax: b.LaterMax,
			CompleteBy: b.CompleteBy, DocumentTTL: b.DocumentTTL,
			InPlaceAttempts: b.CallAttempts, UndoAttempts: b.UndoAttempts, DeadLetters: b.DeadLetters,
			Notify: s.Notify.On(),
		},
		Now: p.now, Pause: engine.Pause, Random: rand.Uint64,
		Changed: func(ctx context.Context, before workflow.State, progress *workflow.Progress) {
			changed(ctx, before, progress)
			p.report.Changed(ctx, before, progress)
		},
		PutOff: p.signals.Metrics.UndoPutOff, Recognized: p.signals.Metrics.Recognized, Log: logger,
	})
}

// openBackendsOf opens the services behind the steps, and returns the endpoints of
// their functions by name.
func openBackendsOf(b business.Business, s settings.Settings, logger *slog.Logger, p ports) (map[string][]business.Endpoint, error) {
	out := map[string][]business.Endpoint{}
	env := business.Env{
		Documents: p.documents, Settings: s.Business, Now: p.now, Keep: s.Budgets.DocumentTTL, CompleteBy: s.Budgets.CompleteBy,
		Logger: logger,
	}
	for _, backend := range b.Backends {
		env.CallTimeout = b.Workflow.ShortestCall(backend.Name, s.Budgets.Call)
		endpoints, err := backend.Open(env)
		if err == nil && len(endpoints) != len(backend.Functions) {
			err = fmt.Errorf("it has endpoints for %d functions, not for %d", len(endpoints), len(backend.Functions))
		}
		if err != nil {
			return nil, fmt.Errorf("open the backend %s: %w", backend.Name, err)
		}
		for i, f := range backend.Functions {
			out[f.Name] = endpoints[i]
		}
	}
	return out, nil
}
