package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
	"github.com/fabrikam/drone-delivery/shared/business"
)

// Config says what to measure, and how long.
type Config struct {
	Starter
	Business business.Business
	Samples  load.Samples
	// Rounds is how often to measure each side, in turns.
	Rounds int
	// For is how long to measure a side in each round, where it is not until a backlog
	// is done.
	For time.Duration
	// Backlog is how many transactions are accepted before they are run to completion;
	// the scenario backlog ends when Drain of them have, 0 for all.
	Backlog, Drain int
	// Latency is how long a mock backend takes. In the scenario tail one call of a
	// hundred takes Tail.
	Latency, Tail time.Duration
	// Compare is for the scenario compare, whose latencies are measured for as long as
	// For says.
	Compare Comparing
	// Viewers have the page open in the scenario viewers, beside Arrivals, which are
	// requests a second. Stored is how many transactions are stored in the scenario
	// status.
	Viewers  int
	Arrivals float64
	Stored   int
	// Spike and Soak are how long these are, and Settle is how long the longest
	// backlog may take.
	Spike, Soak, Settle time.Duration
	// Notice tells people what happens.
	Notice func(text string)
}

// Outcome is what a scenario has measured.
type Outcome struct {
	Scenario    string         `json:"scenario"`
	Comparisons []Comparison   `json:"comparisons,omitempty"`
	Loads       []*load.Report `json:"loads,omitempty"`
	Memory      []Memory       `json:"memory,omitempty"`
	Ways        []Way          `json:"ways,omitempty"`
	Trades      []Trade        `json:"trades,omitempty"`
	Settled     []Settled      `json:"settled,omitempty"`
	Shards      []Sharded      `json:"shards,omitempty"`
	Viewed      []Viewed       `json:"viewed,omitempty"`
	Stored      int            `json:"stored,omitempty"` // transactions, which Costs are about
	Costs       []Cost         `json:"costs,omitempty"`
	Checks      []Check        `json:"checks,omitempty"`
}

// Check is something that is to hold under load.
type Check struct {
	What string `json:"what"`
	Want string `json:"want"`
	Got  string `json:"got"`
	Met  bool   `json:"met"`
	// Lost is true if it is a promise that is broken, and no target that is missed.
	Lost bool `json:"lost"`
}

// scenario is one thing to measure.
type scenario struct {
	name, text string
	run        func(*bench, context.Context) (*Outcome, error)
}

var scenarios = []scenario{
	{"ingest", "accepting through the host, beside one proxy hop", (*bench).ingest},
	{"handler", "accepting at the handler itself, beside a bare mux", (*bench).handler},
	{"workflow", "a backlog run to completion over mock backends, beside a bare loop", (*bench).workflow},
	{"tail", "the same over mock backends with a long tail", (*bench).tail},
	{"whole", "a backlog run to completion over the app's own backends, beside a bare loop", (*bench).whole},
	{"spike", "ten seconds at five times the completion rate", (*bench).spike},
	{"overload", "ten seconds at one and a half times what can be accepted", (*bench).overload},
	{"soak", "half of what can be completed, for a long time", (*bench).soak},
	{"compare", "the same work with SCHEDULER queue, stream and batch", (*bench).ways},
	{"checkpoints", "the trade of batchCheckpointFrequency: writes against events read again", (*bench).checkpoints},
	{"settlement", "an experiment: ReceiveAndDelete in the place of PeekLock, when the receiver is killed", (*bench).settlement},
	{"shards", "the same work with 1, 2 and 4 shards, and how long a pin takes", (*bench).shards},
	{"viewers", "accepting at a rate with the operators' page open, and without", (*bench).viewers},
	{"status", "what a status, a survey and lists cost with many transactions stored", (*bench).status},
	{"backlog", "memory: accepted with Schedule off, started again, then drained", (*bench).backlog},
}

// Scenarios returns what can be measured, each with what it is.
func Scenarios() (all [][2]string) {
	for _, s := range scenarios {
		all = append(all, [2]string{s.name, s.text})
	}
	return all
}

// long are the scenarios that All leaves out.
var long = []string{"soak", "backlog", "compare", "checkpoints", "settlement", "shards", "viewers", "status"}

// All are the names of all scenarios but the long ones.
func All() (names []string) {
	for _, s := range scenarios {
		if !slices.Contains(long, s.name) {
			names = append(names, s.name)
		}
	}
	return names
}

// bench is a run.
type bench struct {
	Config
	name string // of the scenario
}

// Run measures one scenario.
func Run(ctx context.Context, c Config, name string) (*Outcome, error) {
	if _, err := meter.ReadMachine(); err != nil {
		return nil, err
	}
	for _, s := range scenarios {
		if s.name == name {
			c.Dir = filepath.Join(c.Dir, name)
			if c.Profiles != "" {
				c.Profiles = filepath.Join(c.Profiles, name)
			}
			c.Notice(fmt.Sprintf("%s: %s", s.name, s.text))
			o, err := s.run(&bench{Config: c, name: name}, ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			o.Scenario = name
			return o, nil
		}
	}
	return nil, fmt.Errorf("unknown scenario %q: use all or %s", name, strings.Join(append(All(), long...), ", "))
}

// side is one of two that are compared.
type side struct {
	scope scope
	// before comes before each round, and is not measured; nil for nothing.
	before func(context.Context) error
	run    func(context.Context) (done int, err error)
	// profiled is the app whose rounds are profiled; nil for none.
	profiled *profiled
}

// round measures once. A round that doesn't count is not profiled.
func (s side) round(ctx context.Context, counts bool) (Effort, error) {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return Effort{}, err
		}
	}
	if !counts {
		return s.scope.measure(func() (int, error) { return s.run(ctx) })
	}
	if err := s.profiled.begin(); err != nil {
		return Effort{}, err
	}
	effort, err := s.scope.measure(func() (int, error) { return s.run(ctx) })
	return effort, errors.Join(err, s.profiled.end(ctx))
}

// compare measures both sides in turns, each once before it counts. Who is first
// changes with each round.
func (b *bench) compare(ctx context.Context, c Comparison, ours, base side) (Comparison, error) {
	for round := range b.Rounds + 1 {
		var r Rounds
		both := []struct {
			side   side
			effort *Effort
		}{{ours, &r.Ours}, {base, &r.Base}}
		if round%2 == 1 {
			both[0], both[1] = both[1], both[0]
		}
		for _, s := range both {
			var err error
			if *s.effort, err = s.side.round(ctx, round > 0); err != nil {
				return c, err
			}
			if s.effort.Done == 0 {
				return c, errNothing
			}
		}
		if round == 0 {
			b.Notice("  warmed up")
			continue
		}
		c.Sides = append(c.Sides, r)
		b.Notice(fmt.Sprintf("  round %d: %s, %s", round, told(c.Ours, r.Ours), told(c.Base, r.Base)))
	}
	return c, nil
}

var errNothing = errors.New("nothing was done in a round")

func told(who string, e Effort) string {
	return fmt.Sprintf("%s %.0f/s and %.3f ms CPU each (cores %.0f %% busy, %.0f %% with others)", who, e.Rate(), e.PerItem().Seconds()*1000, 100*e.Busy, 100*e.Others)
}
