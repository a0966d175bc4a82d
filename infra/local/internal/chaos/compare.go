package chaos

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Outcome sums up a run so that it can be set beside that of another policy:
// transactions, but for the dead letters.
type Outcome struct {
	Accepted    int `json:"accepted"` // answered 202
	Final       int `json:"final"`
	Lost        int `json:"lost"`        // answered 202, and in no final state
	HalfDone    int `json:"halfDone"`    // with a part of their effects
	Doubled     int `json:"doubled"`     // taken twice, or with an effect twice
	DeadLetters int `json:"deadLetters"` // messages that nobody reads
}

// The violations that make a transaction half done, or doubled, by what they
// are called.
var (
	halfDone = map[string]bool{"half done": true, "missing": true, "orphan": true, "no tombstone": true, "undone": true}
	doubled  = map[string]bool{"doubled": true, "created twice": true, "delivered twice": true, "two at a time": true}
)

func outcomeOf(r invariant.Report, s invariant.Snapshot) Outcome {
	var o Outcome
	accepted, half, twice := map[string]bool{}, map[string]bool{}, map[string]bool{}
	taken := map[string]string{} // operations by request: no two requests are alike
	for _, e := range s.Ledger {
		accepted[e.TransactionID] = true
		if e.Kind != workflow.OperationDeliver {
			continue
		}
		first, known := taken[string(e.Body)]
		taken[string(e.Body)] = e.OperationID
		twice[e.TransactionID] = twice[e.TransactionID] || known && first != e.OperationID
	}
	o.Accepted = len(accepted)
	ended := 0
	for i := range s.Transactions {
		if s.Transactions[i].State.Final() {
			o.Final++
			if accepted[s.Transactions[i].ID] {
				ended++
			}
		}
	}
	o.Lost = o.Accepted - ended
	for _, i := range r.Invariants {
		for _, v := range i.Violations {
			half[v.ID] = half[v.ID] || halfDone[v.What]
			twice[v.ID] = twice[v.ID] || doubled[v.What]
		}
	}
	o.HalfDone, o.Doubled = count(half), count(twice)
	for _, q := range s.Queues {
		o.DeadLetters += q.DeadLetters
	}
	for _, id := range r.Stuck {
		if accepted[id] {
			o.Lost-- // it waits for an operator, who can see it
		}
	}
	return o
}

func count(ids map[string]bool) int {
	n := 0
	for _, is := range ids {
		if is {
			n++
		}
	}
	return n
}

// WriteComparison writes what two policies have made of the same work and the
// same faults.
func WriteComparison(w io.Writer, a, b *Report) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\nthe same requests, faults and kills, seed %d:\n\n", a.Seed)
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\t%s\t%s\t\n", a.Policy, b.Policy)
	for _, row := range []struct {
		name string
		of   func(Outcome) int
	}{
		{"accepted", func(o Outcome) int { return o.Accepted }},
		{"final", func(o Outcome) int { return o.Final }},
		{"lost", func(o Outcome) int { return o.Lost }},
		{"half done", func(o Outcome) int { return o.HalfDone }},
		{"doubled", func(o Outcome) int { return o.Doubled }},
		{"dead letters nobody reads", func(o Outcome) int { return o.DeadLetters }},
	} {
		fmt.Fprintf(table, "%s\t%d\t%d\t\n", row.name, row.of(a.Outcome), row.of(b.Outcome))
	}
	table.Flush() // a builder takes everything
	fmt.Fprintf(&text, "\n  states, %s: %s\n  states, %s: %s\n", a.Policy, states(a), b.Policy, states(b))
	_, err := io.WriteString(w, text.String())
	return err
}

func states(r *Report) string {
	var parts []string
	for _, s := range workflow.States {
		if n := r.Invariants.States[s]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	return strings.Join(parts, ", ")
}
