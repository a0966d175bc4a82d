package invariant

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Report is the judgement of a snapshot.
type Report struct {
	At           time.Time              `json:"at"`
	Transactions int                    `json:"transactions"`
	States       map[workflow.State]int `json:"states"` // transactions by state
	Invariants   []Invariant            `json:"invariants"`
	// Stuck are the transactions that may be: an injected fault refuses their
	// undo, or a service does since the world has finished what it began.
	Stuck []string `json:"stuck"`
	// Unanswered are the transactions that no client's ledger tells of: its
	// client may have died before it noted the answer down.
	Unanswered []string `json:"unanswered"`
	Queues     []Queue  `json:"queues"`
	// Stories are of the first transactions with a violation.
	Stories []Story `json:"stories"`
}

// Invariant is one promise, and what breaks it.
type Invariant struct {
	Name       string            `json:"name"`
	Promise    string            `json:"promise"`
	Checked    int               `json:"checked"` // things that were looked at
	Violations []trial.Violation `json:"violations"`
}

// OK reports whether nothing is broken.
func (r Report) OK() bool { return r.Broken() == 0 }

// Broken counts the violations of all invariants.
func (r Report) Broken() int {
	n := 0
	for _, i := range r.Invariants {
		n += len(i.Violations)
	}
	return n
}

// Finds reports whether a rule has such a violation.
func (r Report) Finds(rule, what, id string) bool {
	return slices.ContainsFunc(r.Invariants, func(i Invariant) bool {
		return i.Name == rule && slices.ContainsFunc(i.Violations, func(v trial.Violation) bool { return v.ID == id && v.What == what })
	})
}

// Unchecked returns the names of the invariants that had nothing to look at: of
// them a report says nothing.
func (r Report) Unchecked() []string {
	names := []string{}
	for _, i := range r.Invariants {
		if i.Checked == 0 {
			names = append(names, i.Name)
		}
	}
	return names
}

// WriteText writes the report for people.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d transactions at %s:", r.Transactions, r.At.UTC().Format(time.RFC3339))
	for _, state := range workflow.States {
		if n := r.States[state]; n > 0 {
			fmt.Fprintf(&b, " %d %s", n, state)
		}
	}
	b.WriteString("\n\n")
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "  invariant\tchecked\tbroken\t")
	for _, i := range r.Invariants {
		fmt.Fprintf(table, "  %s\t%d\t%d\t%s\n", i.Name, i.Checked, len(i.Violations), i.Promise)
	}
	if err := table.Flush(); err != nil { // a builder takes everything
		return err
	}
	b.WriteByte('\n')
	for _, q := range r.Queues {
		fmt.Fprintf(&b, "  queue %s: %d active, %d scheduled, %d dead letters\n", q.Name, q.Active, q.Scheduled, q.DeadLetters)
	}
	if n := len(r.Stuck); n > 0 {
		fmt.Fprintf(&b, "  %d stuck, since an injected fault or the world refuses their undo\n", n)
	}
	if n := len(r.Unanswered); n > 0 {
		fmt.Fprintf(&b, "  %d that no client knows of\n", n)
	}
	for _, s := range r.Stories {
		fmt.Fprintf(&b, "\n%s\n", s.ID)
		for _, line := range s.Lines {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	if names := r.Unchecked(); len(names) > 0 {
		fmt.Fprintf(&b, "\nnothing to look at, and so nothing shown, for: %s\n", strings.Join(names, ", "))
	}
	if n := r.Broken(); n > 0 {
		fmt.Fprintf(&b, "\nBROKEN: %d violations\n", n)
	} else {
		b.WriteString("\nevery invariant holds\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
