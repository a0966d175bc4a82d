package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Report is what a run has shown.
type Report struct {
	Version string `json:"version"`
	Line    string `json:"commandLine"` // repeats the run
	Seed    uint64 `json:"seed"`
	// Scheduler says how the handlers worked off the hub.
	Scheduler settings.SchedulerMode `json:"scheduler"`

	// Shards are the transactions of each; nil with one.
	Shards map[shard.Number]int `json:"shards,omitempty"`

	Clients Clients `json:"clients"`
	// Operations counts them by kind and by how they ended.
	Operations    map[workflow.OperationKind]map[workflow.OperationState]int `json:"operations"`
	Faults        []FaultCount                                               `json:"faults"`
	TreeKills     int                                                        `json:"treeKills"`
	RecoveryKills int                                                        `json:"recoveryKills"` // while the tree came back from a kill
	// Crashes is nil for a run that kills no handlers at their effects.
	Crashes *Coverage `json:"crashes,omitempty"`
	// Bounds are what must have happened for the run to prove anything.
	Bounds []Bound `json:"bounds"`
	News   News    `json:"news"`

	// Settle is how long after the faults the last transaction ended; if not all
	// did, how long that was waited for.
	Settle  time.Duration `json:"settleNanoseconds"`
	Settled bool          `json:"settled"`
	// Findings are what clients saw that no client should see.
	Findings   []Finding        `json:"findings"`
	Invariants invariant.Report `json:"invariants"`
	// Breaks are how many things were made wrong in a copy of what is stored, to see
	// that the rules find them; there was nothing of the kind for those of Unbroken.
	Breaks   int      `json:"breaks"`
	Unbroken []string `json:"unbroken"`
	// Data is the folder with the data of the run, if it was kept.
	Data string `json:"data,omitempty"`
}

func (r *run) newReport() *Report {
	return &Report{
		Version: r.c.Version, Line: r.c.Line, Seed: r.c.Seed, Scheduler: r.c.Scheduler,
		Operations: map[workflow.OperationKind]map[workflow.OperationState]int{},
	}
}

// OK reports whether the promises are proved: nothing is broken, and all bounds
// are met.
func (r *Report) OK() bool { return r.Kept() && len(r.Below()) == 0 }

// Kept reports whether nothing is broken.
func (r *Report) Kept() bool { return r.Settled && len(r.Findings) == 0 && r.Invariants.OK() }

// Below returns the bounds that are not met: so little has happened that the run
// proves nothing.
func (r *Report) Below() []Bound {
	return slices.DeleteFunc(slices.Clone(r.Bounds), Bound.Met)
}

// maxFindings is how many findings the text shows.
const maxFindings = 20

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n%s\n", r.Version, r.Line)
	r.writeBroken(&b)
	writeBounds(&b, r.Bounds)
	r.writeClients(&b)
	b.WriteByte('\n')
	if err := r.Invariants.WriteText(&b); err != nil { // a builder takes everything
		return err
	}
	fmt.Fprintf(&b, "  %d things were made wrong in a copy of what is stored, to see the rules find them\n", r.Breaks)
	if len(r.Unbroken) > 0 {
		fmt.Fprintf(&b, "  nothing could be made wrong, to see it found, for: %s\n", strings.Join(r.Unbroken, ", "))
	}
	for i, f := range r.Findings {
		if i == maxFindings {
			fmt.Fprintf(&b, "  … and %d more\n", len(r.Findings)-i)
			break
		}
		fmt.Fprintf(&b, "  FOUND %s: %s\n", f.ID, f.What)
	}
	if r.Data != "" {
		fmt.Fprintf(&b, "  the data is kept in %s\n", r.Data)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBroken tells what was broken on purpose.
func (r *Report) writeBroken(b *strings.Builder) {
	fmt.Fprintf(b, "\n  the hub was worked off with SCHEDULER %s\n", r.Scheduler)
	fmt.Fprintf(b, "  the tree of processes was killed %d times, and %d times more while it came back\n", r.TreeKills, r.RecoveryKills)
	if r.Crashes != nil {
		fmt.Fprintf(b, "  handlers died %d times at %d of %d crash points", r.Crashes.Deaths, r.Crashes.Points-len(r.Crashes.Missed), r.Crashes.Points)
		if len(r.Crashes.Missed) > 0 {
			fmt.Fprintf(b, "; at none of: %s", strings.Join(r.Crashes.Missed, ", "))
		}
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	table := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  fault\topportunities\thit\t")
	for _, c := range r.Faults {
		info, _ := fault.Lookup(c.Point)
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", c.Point, c.Asked, c.Hit, info.Meaning)
	}
	table.Flush() // a builder takes everything
}

// writeClients tells what the clients saw.
func (r *Report) writeClients(b *strings.Builder) {
	c := r.Clients
	fmt.Fprintf(b, "\n  %d requests: %d accepted, %d refused, %d unanswered, %d given up\n", c.Sent, c.Accepted, c.Refused, c.Unanswered, c.GivenUp)
	b.WriteString("  answers:")
	for _, status := range slices.Sorted(maps.Keys(c.Answers)) {
		fmt.Fprintf(b, " %d × %s", c.Answers[status], status)
	}
	fmt.Fprintf(b, "\n  one exchange to its 202: p50 %v, p99 %v; with all repeats: p50 %v, p99 %v\n",
		short(c.ExchangeP50), short(c.ExchangeP99), short(c.RequestP50), short(c.RequestP99))
	for _, kind := range slices.Sorted(maps.Keys(r.Operations)) {
		fmt.Fprintf(b, "  %s:", kind)
		for _, state := range slices.Sorted(maps.Keys(r.Operations[kind])) {
			fmt.Fprintf(b, " %d %s", r.Operations[kind][state], state)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(b, "  %d ends were told to the webhook, %d of them again; it refused %d at first\n", r.News.Told, r.News.Again, r.News.Refused)
	if r.Settled {
		fmt.Fprintf(b, "  the last transaction ended %.1f s after the last fault\n", r.Settle.Seconds())
	} else {
		fmt.Fprintf(b, "  NOT everything had ended %.1f s after the last fault\n", r.Settle.Seconds())
	}
}

func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
