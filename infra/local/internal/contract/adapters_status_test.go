package contract

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// adaptersTransactions stores many final transactions and some open ones, all
// accepted at a time.
func adaptersTransactions(t *testing.T, db *cosmosdb.Database, final, open int, at time.Time) {
	t.Helper()
	c := db.Container(cosmosdb.TransactionsContainer)
	var group errgroup.Group
	group.SetLimit(16)
	for i := range final + open {
		group.Go(func() error {
			p := workflow.Progress{ID: fmt.Sprintf("t-%d", i), State: workflow.Completed, AcceptedAt: workflow.At(at)}
			if i >= final {
				p.State, p.WakeAt, p.AcceptedAt = workflow.Running, workflow.At(at), workflow.At(at.Add(time.Duration(i)*time.Second))
			}
			doc, err := json.Marshal(p)
			if err != nil {
				return err
			}
			_, err = c.Create(t.Context(), p.ID, p.ID, doc)
			return err
		})
	}
	must(t, "store transactions", group.Wait())
}

// behind is a hub of 32 partitions, none of which was read since a time.
type behind time.Time

func (b behind) Partitions(context.Context) (all []relay.Partition, err error) {
	for i := range 32 {
		all = append(all, relay.Partition{Partition: fmt.Sprint(i), Lag: 5, OldestUnreadAt: time.Time(b), RenewedAt: time.Time(b)})
	}
	return all, nil
}

func (behind) Replay(context.Context, relay.Again) (relay.Replayed, error) {
	return relay.Replayed{}, errors.ErrUnsupported
}

func (behind) Behind(context.Context) (int64, error) { return 32 * 5, nil }

// Ensure that the status is put together for at most 20 request units, and counted
// without reading what has ended; and that instances replace what they have told.
func TestAdaptersStatus(t *testing.T) {
	const final, open, instances = 2000, 30, 3
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: adaptersAccount(t, cosmos.Config{RangesPerContainer: 1})}, cosmosdb.Options{
		Database: adaptersDatabase, Observe: func(context.Context, cosmosdb.Try) {},
	})
	must(t, "open", err)
	t.Cleanup(db.Close)
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	adaptersTransactions(t, db, final, open, at)
	told := cosmosdb.NewTold(db)

	ctx, charge := telemetry.WithCharge(t.Context())
	running, err := told.InState(ctx, workflow.Running, 100_000)
	must(t, "count", err)
	if running != (operate.Count{Count: open, OldestAt: at.Add(final * time.Second)}) || charge.Units() > 40 {
		t.Errorf("%+v for %.1f RU", running, charge.Units())
	}
	if some, err := told.InState(ctx, workflow.Completed, final-1); err != nil || some.Count != final-1 || !some.More {
		t.Errorf("%+v, %v", some, err)
	}
	if due, err := told.Overdue(ctx, workflow.At(at.Add(time.Second)), 10); err != nil || due.Count != 10 || !due.More || !due.OldestAt.Equal(at) {
		t.Errorf("%+v, %v", due, err)
	}
	if none, err := told.Overdue(ctx, workflow.At(at), 10); err != nil || none.Count != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	for _, count := range []func() (operate.Count, error){
		func() (operate.Count, error) { return told.Notices(ctx, workflow.At(at), 10) },
		func() (operate.Count, error) { return told.Kept(ctx, 10) },
	} {
		if n, err := count(); err != nil || n.Count != 0 {
			t.Errorf("%+v, %v", n, err)
		}
	}

	survey := operate.Survey{At: at, States: map[workflow.State]operate.Count{workflow.Running: running}}
	for i := range 32 {
		survey.Partitions = append(survey.Partitions, operate.Lag{Partition: fmt.Sprint(i), Lag: 5, OldestUnreadAt: at, RenewedAt: at})
	}
	must(t, "store the survey", told.Surveyed(t.Context(), survey))
	for round := range 2 {
		for i := range instances {
			must(t, "report", told.Report(t.Context(), operate.Report{Instance: fmt.Sprintf("a/%d", i), At: at.Add(time.Duration(round) * time.Second)}))
		}
	}
	reports, err := told.Reports(t.Context())
	must(t, "read the reports", err)
	if len(reports) != instances || !reports[0].At.Equal(at.Add(time.Second)) {
		t.Errorf("%d reports %+v", len(reports), reports)
	}
	none, found, etag, err := told.Read(t.Context())
	if err != nil || none != nil || etag != "" || len(found.Partitions) != 32 {
		t.Errorf("%+v, %+v, %q, %v", none, found, etag, err)
	}
	must(t, "write", told.Write(t.Context(), operate.Status{At: at}, ""))
	if err := told.Write(t.Context(), operate.Status{}, ""); !failure.Is(err, failure.Conflict) {
		t.Errorf("over another: %v", err)
	}
	_, _, etag, err = told.Read(t.Context())
	must(t, "read", err)
	must(t, "write again", told.Write(t.Context(), operate.Status{At: at}, etag))
	if err := told.Write(t.Context(), operate.Status{}, etag); !failure.Is(err, failure.Conflict) {
		t.Errorf("over a later one: %v", err)
	}

	clock := at.Add(time.Minute)
	service := operate.New(operate.Config{
		Engine: &engine.Engine{Config: engine.Config{Definition: workflowtest.Trip(), Now: func() time.Time { return clock }}},
		Told:   told, Counter: told, Hub: behind(at), Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	for range 3 {
		clock = clock.Add(time.Minute)
		ctx, charge := telemetry.WithCharge(t.Context())
		s, err := service.Status(ctx)
		must(t, "status", err)
		if !s.At.Equal(clock) || len(s.Survey.Partitions) != 32 || charge.Units() > 20 {
			t.Errorf("the status of %v cost %.1f RU", s.At, charge.Units())
		}
		t.Logf("a status costs %.1f RU, and is stored", charge.Units())
	}
	clock = clock.Add(10 * time.Second)
	ctx, charge = telemetry.WithCharge(t.Context())
	if s, err := service.Status(ctx); err != nil || !s.At.Equal(clock) || charge.Units() > 8 {
		t.Errorf("the status of %v, which is not stored, cost %.1f RU, %v", s.At, charge.Units(), err)
	}
}
