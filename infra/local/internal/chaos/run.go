// Package chaos proves that the system keeps its promises while everything
// breaks: it starts the system as a child, lets clients use it, breaks it from
// within by the runtime's faults and from outside by killing all of it, waits
// until it rests, and has the stored data checked against what the clients were
// told.
//
// A seed decides everything planned: what is sent when and how, what clients do
// later, which faults hit, and when the tree of processes is killed. How
// goroutines and processes interleave is chance.
//
// Reading order: config.go, run.go (one run), plan.go and stories.go (what is
// sent), load.go and question.go (the clients), ledger.go (what they know),
// poison.go, receiver.go (who is told), package tree (the processes), faults.go,
// bursts.go, shards.go, moves.go, closing.go, effects.go and crash.go (what is broken), signs.go and bounds.go (what must be
// seen of it), steer.go (towards that), storm.go (all that at once), settle.go,
// ends.go and prove.go (the judgement), report.go; meanwhile.go (what the trial has
// besides).
package chaos

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/tree"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// run is one run of the system under faults. It is used by one goroutine.
type run struct {
	c       Config
	paths   paths
	output  io.WriteCloser // what the tree writes
	tree    *tree.Tree
	at      system.Endpoints // of the tree, the same in all its lives
	faults  *faults
	signs   *signs
	bounds  []Bound    // without what was seen
	plan    fault.Plan // in force
	begun   time.Time  // when the storm began
	encore  bool       // the storm has gone on when its time was up
	crashes *crashes   // nil if handlers are not killed at their effects
	armed   time.Time  // when crash points were armed last
	spared  bool       // the handlers that started last
	news    *receiver
	ledger  *ledger
	tally   *tally
	load    *load
	client  *workload.Client
	poison  []poison
	tokens  *tokens // nil with one shard
	second  string  // address of the second instance
	moves   moves

	kills, recoveryKills int
	calmAt               time.Time // when the faults have ended
}

// paths are the files of a run, in its folder.
type paths struct{ app, endpoints, log, data, output, ledger, crashes string }

func newPaths(dir string) paths {
	in := func(parts ...string) string { return filepath.Join(append([]string{dir}, parts...)...) }
	return paths{
		app: in("app"), endpoints: in("local", "endpoints.json"), log: in("local", "log.txt"), data: in("data"),
		output: in("serve.txt"), ledger: in("ledger.jsonl"), crashes: in("crashes"),
	}
}

// Run carries out one run. It stops everything that it has started before it
// returns. The error is what kept it from a judgement; what is broken is in the
// report.
func Run(ctx context.Context, c Config) (*Report, error) {
	r, err := prepare(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("prepare the run: %w", err)
	}
	report, err := r.carryOut(ctx)
	if err := errors.Join(err, r.close()); err != nil {
		return nil, err
	}
	if report.OK() && !c.Keep {
		return report, os.RemoveAll(r.paths.data)
	}
	report.Data = r.paths.data
	return report, nil
}

func (r *run) carryOut(ctx context.Context) (*Report, error) {
	if err := r.start(ctx); err != nil {
		return nil, err
	}
	if err := r.storm(ctx); err != nil {
		return nil, err
	}
	return r.prove(ctx)
}

// marker is the file by which a folder is known as that of a run.
const marker = "chaos.txt"

// emptyFolder makes the folder of a run.
func emptyFolder(dir, line string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, marker)); len(entries) > 0 && err != nil {
		return fmt.Errorf("the folder %s is not that of a run, and not empty: name another", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, marker), []byte(line+"\n"), 0o600)
}

// prepare makes the folder, the app in it, and all that is planned.
func prepare(ctx context.Context, c Config) (*run, error) {
	dir, err := filepath.Abs(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := emptyFolder(dir, c.Line); err != nil {
		return nil, err
	}
	r := &run{c: c, paths: newPaths(dir), faults: newFaults(), tally: newTally(), signs: newSigns(newPaths(dir).log, c.Business.Resource), plan: c.Faults}
	if err := c.Stage(ctx, r.paths.app); err != nil {
		return nil, err
	}
	ports, err := tree.FreePorts(5)
	if err != nil {
		return nil, err
	}
	if r.output, err = os.Create(r.paths.output); err != nil {
		return nil, err
	}
	if r.ledger, err = createLedger(r.paths.ledger); err != nil {
		return nil, errors.Join(err, r.output.Close())
	}
	command := append(c.Command, "-profile", "chaos", "-app", r.paths.app, "-data", r.paths.data,
		"-instances", strconv.Itoa(c.Instances), "-clocks", clocks(c),
		"-http", ports[0], "-amqp", ports[1], "-cosmos", ports[2], "-admin", ports[3])
	command, r.second = append(command, c.flags(ports[4])...), ports[4]
	var watch *effect.Watch
	points := 0
	if c.CrashPoints {
		if err := r.prepareCrashes(); err != nil {
			return nil, errors.Join(err, r.output.Close(), r.ledger.close())
		}
		watch, points, command = r.crashes.watch, len(r.crashes.points), append(command, "-crashes", r.paths.crashes)
	}
	r.bounds = c.bounds(points)
	if r.news, err = listen(c.Seed, watch); err != nil {
		watch.Close()
		return nil, errors.Join(err, r.output.Close(), r.ledger.close())
	}
	env := append(environment(c), r.news.settings()...)
	if c.sharded() {
		i, err := issuer.Start()
		if err != nil {
			return nil, errors.Join(err, r.news.close(), r.output.Close(), r.ledger.close())
		}
		r.tokens = &tokens{issuer: i, given: map[string]string{}}
		for name, value := range trial.Sorted(i.Settings()) {
			env = append(env, name+"="+value)
		}
	}
	r.tree = tree.New(tree.Config{
		Command: command, Env: env,
		Endpoints: r.paths.endpoints, Output: r.output, Grace: 15 * time.Second,
	})
	r.poison = planPoison(c.Seed, c.Requests, c.Duration)
	return r, nil
}

// prepareCrashes lists the crash points and makes the folder with their plan.
func (r *run) prepareCrashes() error {
	all, err := effects(r.c.Subject, r.paths.app)
	if err != nil {
		return err
	}
	r.crashes, err = newCrashes(pointsOf(all), r.paths.crashes, r.c.Faults.Seed)
	return err
}

// clocks says how far the clock of each instance is off, by turns: half of what
// they are apart ahead and half behind.
func clocks(c Config) string {
	var off []string
	for i := range c.Instances {
		off = append(off, (c.Clocks / 2 * time.Duration(1-2*(i%2))).String())
	}
	return strings.Join(off, ",")
}

// environment is that of the tree: the names that the checker looks for, who works
// off the hub, and the settings of the trial.
func environment(c Config) []string {
	env := []string{
		"EVENTHUB_NAME=" + eventHub, "TRANSACTIONS_QUEUE=" + queues[0], "COMPENSATIONS_QUEUE=" + queues[1], "NOTIFICATIONS_QUEUE=" + queues[2],
		"COSMOSDB_DATABASE=" + database, "SCHEDULER=" + string(c.Scheduler),
	}
	if c.Scheduler != settings.SchedulerQueue {
		env = append(env, "RELAY_QUIET_SECONDS="+quietWhereItRuns, "STREAM_PATIENCE_SECONDS="+shortPatience)
	}
	if c.Trial.Settings != nil {
		for name, value := range trial.Sorted(c.Trial.Settings(c.Requests)) {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// What a run needs whose events are worked off where they arrive: a partition is
// quiet only after the longest batch (settings.LongestBatch), and some deliveries are
// to be left to the queue.
const (
	quietWhereItRuns = "40"
	shortPatience    = "0.5"
)

// The names of what the tree serves.
const (
	eventHub = "requests"
	database = "fabrikam"
)

var queues = []string{"transactions", "compensations", "notifications"}

// start starts the tree and what talks to it. Handlers die from the first
// moment on: some of what they make is made once only.
func (r *run) start(ctx context.Context) error {
	if err := r.revive(ctx); err != nil {
		return err
	}
	r.client = workload.NewClient(r.options(workload.ClientOptions{
		Resource: r.c.Business.Resource, Connections: 64, Timeout: 15 * time.Second, Seen: r.tally.exchange,
	}))
	r.load = &load{client: r.client, ledger: r.ledger, tally: r.tally}
	return r.arming(ctx, func(ctx context.Context) error {
		return workload.Prepare(ctx, r.options(workload.ClientOptions{}), r.c.Trial.Before)
	})
}

// revive starts the tree and waits until it serves.
func (r *run) revive(ctx context.Context) error {
	if err := r.arm(); err != nil {
		return err
	}
	if err := r.launch(); err != nil {
		return err
	}
	return r.arming(ctx, func(ctx context.Context) (err error) {
		if r.at, err = r.tree.Serving(ctx); err != nil {
			return fmt.Errorf("%w; see %s", err, r.paths.output)
		}
		return nil
	})
}

// launch starts the tree. It keeps the logs of the lives before.
func (r *run) launch() error {
	if err := r.signs.ended(); err != nil {
		return err
	}
	kept := fmt.Sprintf("%s.%d", r.paths.log, r.kills+r.recoveryKills)
	if err := os.Rename(r.paths.log, kept); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("keep the log: %w", err)
	}
	return r.tree.Launch()
}

// disarm takes all crash points out of the plan.
func (r *run) disarm() error {
	if r.crashes == nil {
		return nil
	}
	return r.crashes.disarm()
}

func (r *run) close() error {
	if r.crashes != nil {
		defer r.crashes.watch.Close()
	}
	if r.client != nil {
		r.client.Close()
	}
	err := errors.Join(r.tree.Stop(), r.output.Close(), r.ledger.close(), r.news.close())
	if r.tokens != nil {
		err = errors.Join(err, r.tokens.failed, r.tokens.issuer.Close())
	}
	return err
}
