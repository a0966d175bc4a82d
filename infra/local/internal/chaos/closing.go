package chaos

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// closeLimit is how long the closing shard may take to be empty.
const closeLimit = 3 * time.Minute

// closes reports whether a shard is closed in the middle of a run: another one has to stay
// open besides the first.
func (c Config) closes() bool { return c.Shards > closed }

// closeForGood ends what the run has begun in its middle, as operators do, after all is
// judged: they decide what waits for them in the closing shard, its hub refuses, and the shard is closed. Then
// it acknowledges nothing, changes of what is in it are 409, and GET goes on.
func (r *run) closeForGood(ctx context.Context, report *Report, entries []invariant.LedgerEntry) error {
	secret := ops.Secret{Token: func(context.Context) (string, error) { return r.tokens.of(""), nil }}
	front, err := ops.NewClient("http://"+r.at.HTTP, secret)
	if err != nil {
		return err
	}
	defer front.Close()
	apps := ops.NewApps(front, secret)
	defer apps.Close()
	app, err := apps.At(ctx, closed)
	if err != nil {
		return fmt.Errorf("close shard %d: %w", closed, err)
	}
	limited, cancel := context.WithTimeout(ctx, closeLimit)
	defer cancel()
	hub := system.InShard(eventHub, closed)
	for _, step := range []func() error{
		func() error { return r.empty(limited, app) },
		func() error {
			_, err := ops.SetHub(limited, r.at.Admin, hub, ops.HubSendDisabled)
			return err
		},
		func() error { return r.empty(limited, app) },
		func() error {
			_, err := front.ChangeShards(limited, shard.Change{Act: shard.ActClosed, Shard: closed}, operate.Actor{By: operator, Why: "chaos"})
			return err
		},
	} {
		if err := step(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.c.Notice(fmt.Sprintf("shard %d stays closing: %v", closed, err))
			report.Bounds = append(report.Bounds, Bound{Name: boundClosed, Wanted: 1})
			return nil
		}
	}
	report.Bounds = append(report.Bounds, Bound{Name: boundClosed, Wanted: 1, Seen: 1})
	findings, err := r.tryClosed(ctx, hub, entries)
	report.Findings = append(report.Findings, findings...)
	return err
}

// empty waits until nothing is left in a shard. It decides what waits for an operator, and
// takes back the wakes of what has ended, for which a shard waits up to a day.
func (r *run) empty(ctx context.Context, app *ops.Client) error {
	for {
		left, err := app.Left(ctx)
		if err == nil && len(left.Says) == 0 {
			return nil
		}
		if err == nil {
			err = decide(ctx, app, left)
		}
		if err == nil && left.Open+left.Stuck+left.Untold == 0 && left.Events == 0 {
			err = r.takeBack(ctx, left.Queues)
		}
		if !wait(ctx, time.Second) {
			return errors.Join(fmt.Errorf("this is left in it: %s", strings.Join(left.Says, "; ")), err)
		}
	}
}

// decide gives up what is Stuck and drops what is in quarantine. What is refused is
// left for the next time.
func decide(ctx context.Context, app *ops.Client, left operate.Left) error {
	by := operate.Actor{By: operator, Why: "the shard is to be closed"}
	var stuck, kept []string
	if left.Stuck > 0 {
		all, _, err := ops.Collect(operate.MaxAtOnce, func(next string) (ops.Page[operate.Summary], error) {
			return app.Transactions(ctx, nil, next) // of the Stuck ones
		})
		if err != nil {
			return err
		}
		for _, t := range all {
			stuck = append(stuck, t.ID)
		}
	}
	if left.Undecided > 0 {
		all, _, err := ops.Collect(operate.MaxAtOnce, func(next string) (ops.Page[quarantine.Entry], error) {
			return app.Entries(ctx, "", "", string(quarantine.Kept), next)
		})
		if err != nil {
			return err
		}
		for _, e := range all {
			kept = append(kept, e.Source+"/"+e.ID)
		}
	}
	var errs []error
	for act, ids := range map[string][]string{operate.ActGiveUp: stuck, string(quarantine.ActDrop): kept} {
		if len(ids) == 0 {
			continue
		}
		results, err := app.Acts(ctx, operate.Acts{Act: act, IDs: ids, By: by})
		errs = append(errs, err)
		for _, result := range results {
			if !result.Done {
				errs = append(errs, fmt.Errorf("%s %s: %s", act, result.ID, result.Result))
			}
		}
	}
	return errors.Join(errs...)
}

// takeBack cancels the messages of queues that come later.
func (r *run) takeBack(ctx context.Context, queues []operate.QueueCount) (err error) {
	client, err := azservicebus.NewClientFromConnectionString(r.at.ServiceBus, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	for _, q := range queues {
		if q.Scheduled == 0 {
			continue
		}
		receiver, err := client.NewReceiverForQueue(q.Queue, nil)
		if err != nil {
			return err
		}
		messages, err := receiver.PeekMessages(ctx, int(min(q.Scheduled+q.Active, 100)), nil)
		if err != nil {
			return err
		}
		var later []int64
		for _, m := range messages {
			if m.State == azservicebus.MessageStateScheduled {
				later = append(later, *m.SequenceNumber)
			}
		}
		sender, err := client.NewSender(q.Queue, nil)
		if err != nil {
			return err
		}
		if err := sender.CancelScheduledMessages(ctx, later, nil); err != nil {
			return err
		}
		r.c.Notice(fmt.Sprintf("%d messages of queue %s that come later are taken back", len(later), q.Queue))
	}
	return nil
}

// sendLimit is how long a send to a closed hub is tried.
const sendLimit = 5 * time.Second

// tryClosed sends to a closed shard's hub, asks for a change of what is there, and
// reads it.
func (r *run) tryClosed(ctx context.Context, hub string, entries []invariant.LedgerEntry) (findings []Finding, err error) {
	services, err := workload.OpenServices(workload.Target{EventHubs: r.at.EventHubs, EventHub: hub, CosmosDB: r.at.CosmosDB, Database: database})
	if err != nil {
		return nil, err
	}
	sending, cancel := context.WithTimeout(ctx, sendLimit)
	defer cancel()
	if services.Poison(sending) == nil {
		findings = append(findings, Finding{hub, "its shard is closed, and it has acknowledged an event"})
	}
	there := slices.IndexFunc(entries, func(e invariant.LedgerEntry) bool {
		in, _ := shard.Claimed(e.TransactionID)
		return in == closed
	})
	if there >= 0 {
		id, ctx := entries[there].TransactionID, workload.As(ctx, entries[there].Caller)
		if _, err := r.client.Cancel(ctx, id, "closed-"+id); workload.Status(err) != http.StatusConflict {
			findings = append(findings, Finding{id, fmt.Sprintf("it is in a closed shard, and its cancel is answered with %v", err)})
		}
		if _, err := r.client.Progress(ctx, id); err != nil {
			findings = append(findings, Finding{id, fmt.Sprintf("it is in a closed shard, and its progress is answered with %v", err)})
		}
	}
	return findings, services.Close()
}
