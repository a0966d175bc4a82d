package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Cost is what a question cost while many transactions were stored.
type Cost struct {
	What  string        `json:"what"`
	Found int           `json:"found"`
	Units float64       `json:"units"` // RU
	Took  time.Duration `json:"tookNanoseconds"`
}

// storedDatabase is where the transactions are stored.
const storedDatabase = "stored"

// resting are settings of an app in which nothing happens by itself: Sweep runs when it
// is asked to.
var resting = map[string]string{"COSMOSDB_DATABASE": storedDatabase, "SWEEP_SCHEDULE": "0 0 0 1 1 *"}

// status measures what those cost who ask how things stand, while many transactions are
// stored.
func (b *bench) status(ctx context.Context) (o *Outcome, err error) {
	all, err := newStored(b.Business, b.Samples, time.Now())
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	app, err := b.Serve(ctx, resting)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	o = &Outcome{Stored: b.Stored}
	w, err := b.watch(app, begun, o, "empty", 0)
	if err != nil {
		return nil, err
	}
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: app.at.CosmosDB}, cosmosdb.Options{Database: storedDatabase, Observe: func(context.Context, cosmosdb.Try) {}})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	if err := all.fill(ctx, db, b.Stored, b.telling("stored", b.Stored)); err != nil {
		return nil, err
	}
	if err := w.ended("stored", b.Stored); err != nil {
		return nil, err
	}
	client, err := ops.NewClient(app.URL, ops.Secret{})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	a := &asking{bench: b, o: o, app: app, client: client, told: cosmosdb.NewTold(db)}
	if err := a.all(ctx, all); err != nil {
		return nil, err
	}
	return o, w.ended("looked at", b.Stored)
}

// telling returns what tells people now and then how much is done. It is safe for
// concurrent use.
func (b *bench) telling(what string, of int) func(done int) {
	begun := time.Now()
	var told atomic.Int64 // how often
	return func(done int) {
		if n := told.Load(); time.Since(begun) >= time.Duration(n+1)*tell && told.CompareAndSwap(n, n+1) {
			b.Notice(fmt.Sprintf("  %s %d of %d", what, done, of))
		}
	}
}

// asking asks what is to be measured.
type asking struct {
	*bench
	o      *Outcome
	app    *Process
	client *ops.Client
	told   *cosmosdb.Told
}

func (a *asking) all(ctx context.Context, s stored) error {
	if err := a.counts(ctx); err != nil {
		return err
	}
	if err := a.status(ctx, "a status that is stored"); err != nil {
		return err
	}
	if err := a.survey(ctx); err != nil {
		return err
	}
	for _, n := range instances {
		if a.Rounds == 1 {
			break // in short
		}
		if err := a.report(ctx, n-1); err != nil { // the app is one, too
			return err
		}
		if err := engine.Pause(ctx, pageEvery+time.Second); err != nil { // what the app knows is too old by then
			return err
		}
		if err := a.status(ctx, fmt.Sprintf("a status, told by %d instances", n)); err != nil {
			return err
		}
	}
	if err := a.status(ctx, "a status, soon again"); err != nil {
		return err
	}
	return a.lists(ctx, s)
}

// instances are how many have told of themselves when the status is asked for.
var instances = []int{1, 10, 100}

// report stores the reports of so many busy instances.
func (a *asking) report(ctx context.Context, n int) error {
	for i := range n {
		if err := a.told.Report(ctx, busy(fmt.Sprintf("0123456789abcdef%d/%d", i, 1000+i), a.Business.Workflow.Steps, time.Now())); err != nil {
			return err
		}
	}
	return nil
}

// busy is the report of an instance that has accepted and run requests for five seconds.
func busy(instance string, steps []workflow.Step, now time.Time) operate.Report {
	at := now.Add(-pageEvery)
	r := operate.NewReporter(instance, func() time.Time { return at })
	r.Buffer = func() (int, int) { return 17, 4096 }
	calls := r.Calls(enginetest.NewBackends(&workflowtest.Gate{}))
	for n := range 211 {
		r.Flushed(ingest.Flush{Events: 1})
		for _, s := range steps {
			calls.Do(context.Background(), engine.Attempt{TransactionID: fmt.Sprint(n), Step: s.Name, Call: workflow.Call{Backend: s.Name, Method: http.MethodPut, Path: fmt.Sprint(s.Name, n)}})
		}
		r.Changed(context.Background(), workflow.Running, &workflow.Progress{State: workflow.Completed, AcceptedAt: workflow.At(at.Add(-300 * time.Millisecond))})
	}
	at = now
	return r.Take()
}

func (a *asking) cost(c Cost) {
	a.o.Costs = append(a.o.Costs, c)
	a.Notice(fmt.Sprintf("  %s: found %d for %.1f RU in %v", c.What, c.Found, c.Units, c.Took.Round(100*time.Microsecond)))
}

// counts makes the counts of a survey by themselves.
func (a *asking) counts(ctx context.Context) error {
	count := func(what string, find func(ctx context.Context, limit int) (operate.Count, error)) error {
		ctx, charge := telemetry.WithCharge(ctx)
		begun := time.Now()
		found, err := find(ctx, operate.CountLimit)
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		a.cost(Cost{what, found.Count, charge.Units(), time.Since(begun)})
		return nil
	}
	now := workflow.At(time.Now())
	for _, state := range workflow.States {
		if state.Final() {
			continue
		}
		if err := count("count "+string(state), func(ctx context.Context, limit int) (operate.Count, error) { return a.told.InState(ctx, state, limit) }); err != nil {
			return err
		}
	}
	if err := count("count overdue wakes", func(ctx context.Context, limit int) (operate.Count, error) { return a.told.Overdue(ctx, now, limit) }); err != nil {
		return err
	}
	return count("count due notices", func(ctx context.Context, limit int) (operate.Count, error) { return a.told.Notices(ctx, now, limit) })
}

// survey has Sweep make one.
func (a *asking) survey(ctx context.Context) error {
	begun := time.Now()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.app.URL+"/admin/functions/Sweep", bytes.NewReader([]byte(`{"input":""}`)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusAccepted {
		return fmt.Errorf("have Sweep run: status %d", resp.StatusCode)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, a.Settle, fmt.Errorf("no survey within %v", a.Settle))
	defer cancel()
	for {
		_, survey, _, err := a.told.Read(ctx)
		if err != nil {
			return err
		}
		if !survey.At.IsZero() {
			found := 0
			for _, c := range survey.States {
				found += c.Count
			}
			a.cost(Cost{"Sweep's survey", found, survey.Charge, time.Since(begun)})
			for _, failed := range survey.Failed {
				a.o.Checks = append(a.o.Checks, Check{What: "the survey finds out everything", Want: "yes", Got: failed})
			}
			return nil
		}
		if engine.Pause(ctx, pinPause) != nil {
			return context.Cause(ctx)
		}
	}
}

// asked asks the app for something. What it costs is what the app has counted meanwhile
// for a container: nothing else happens there.
func (a *asking) asked(ctx context.Context, what, container string, ask func(context.Context) (int, error)) (Cost, error) {
	before, err := load.Scrape(ctx, a.app.URL)
	if err != nil {
		return Cost{}, err
	}
	begun := time.Now()
	found, err := ask(ctx)
	took := time.Since(begun)
	if err != nil {
		return Cost{}, fmt.Errorf("%s: %w", what, err)
	}
	after, err := load.Scrape(ctx, a.app.URL)
	c := Cost{what, found, after.Since(before).Units[container], took}
	a.cost(c)
	return c, err
}

func (a *asking) status(ctx context.Context, what string) error {
	c, err := a.asked(ctx, what, cosmosdb.CheckpointsContainer, func(ctx context.Context) (int, error) {
		s, err := a.client.Status(ctx)
		return len(s.Unusual), err
	})
	a.o.Checks = append(a.o.Checks, Check{What: "RU of " + what, Want: fmt.Sprintf("<= %d", statusMost), Got: fmt.Sprintf("%.1f", c.Units), Met: c.Units <= statusMost})
	return err
}

// lists asks for pages of the list of transactions.
func (a *asking) lists(ctx context.Context, s stored) error {
	steps := a.Business.Workflow.Steps
	last := steps[len(steps)-1].Name
	searched := a.Stored / 2
	type list struct {
		what   string
		filter url.Values
	}
	lists := []list{
		{"a page of Stuck ones", url.Values{"state": {"Stuck"}}},
		{"a page of open ones at a step", url.Values{"state": {"open"}, "step": {last}}},
		{"a page of any", url.Values{"state": {"any"}}},
		{"a page that a filter leaves empty", url.Values{"state": {"Completed"}, "step": {last}}},
		{"a search by id", url.Values{"search": {storedID(searched)}}},
	}
	if key := s.of(searched).key; key != "" {
		lists = append(lists, list{"a search by key", url.Values{"search": {storedKey(key, searched)}}})
	}
	for _, l := range lists {
		_, err := a.asked(ctx, l.what, cosmosdb.TransactionsContainer, func(ctx context.Context) (int, error) {
			page, err := a.client.Transactions(ctx, l.filter, "")
			return len(page.Items), err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const costColumns = "scenario | stored | question | found | RU | ms"

func costRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, c := range o.Costs {
			rows = append(rows, fmt.Sprintf("| %s | %d | %s | %d | %.1f | %.1f |\n", o.Scenario, o.Stored, c.What, c.Found, c.Units, milliseconds(c.Took)))
		}
	}
	return rows
}
