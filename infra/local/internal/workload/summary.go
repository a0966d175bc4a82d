package workload

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Summary is what became of a run.
type Summary struct {
	Deliveries  int `json:"deliveries"` // distinct well-formed requests
	Accepted    int `json:"accepted"`   // of them, answered with 202
	Refused     int `json:"refused"`    // malformed ones, answered with 400
	Duplicates  int `json:"duplicates"` // repeats that got the first one's ids
	Completed   int `json:"completed"`
	Rejected    int `json:"rejected"`
	Compensated int `json:"compensated"`
	Cancelled   int `json:"cancelled"`
	Rescheduled int `json:"rescheduled"` // of the completed ones
	TooLate     int `json:"tooLate"`     // of the completed ones, asked to change or cancel after that
	Quarantined int `json:"quarantined"`

	P50       time.Duration `json:"p50Nanoseconds"` // from request to completion
	P95       time.Duration `json:"p95Nanoseconds"`
	P99       time.Duration `json:"p99Nanoseconds"`
	Accepting time.Duration `json:"acceptingNanoseconds"` // until the last 202
	Total     time.Duration `json:"totalNanoseconds"`     // until the last final state

	// Faults are the ids, with what is wrong, that do not add up.
	Faults []string `json:"faults"`
	// planned are the lines of which there must be some, and what their kinds say.
	planned map[string][]string
}

// poisonEvents is how many unreadable events a run puts on the hub.
const poisonEvents = 1

func summarize(deliveries []*delivery) *Summary {
	s := &Summary{Faults: []string{}, planned: planned(deliveries)}
	var latencies []time.Duration
	seen := map[string]string{}
	for _, d := range deliveries {
		if d.malformed() {
			s.countRefused(d)
			continue
		}
		s.Deliveries++
		if d.err != nil {
			s.fault(d, "not accepted: %v", d.err)
			continue
		}
		s.Accepted++
		if other, taken := seen[d.receipt.TransactionID]; taken {
			s.fault(d, "has the TransactionID of another delivery (%s)", other)
		}
		seen[d.receipt.TransactionID] = d.Kind.Name
		s.countEnd(d)
		if d.last.State == "Completed" && d.Then == "" {
			latencies = append(latencies, d.last.EndedAt.Sub(d.sent))
		}
	}
	s.P50, s.P95, s.P99 = Quantiles(latencies)
	for _, line := range s.lines() {
		if line.count == 0 && s.planned[line.name] != nil {
			s.Faults = append(s.Faults, fmt.Sprintf("%s: none, though some were planned", line.name))
		}
	}
	return s
}

func (s *Summary) countRefused(d *delivery) {
	if Status(d.err) == http.StatusBadRequest {
		s.Refused++
		return
	}
	s.fault(d, "malformed, but answered with %v instead of 400", d.err)
}

// countEnd counts the state that d ended in and what was asked of it on the way.
func (s *Summary) countEnd(d *delivery) {
	switch d.last.State {
	case "Completed":
		s.Completed++
	case "Rejected":
		s.Rejected++
	case "Compensated":
		s.Compensated++
	case "Cancelled":
		s.Cancelled++
	}
	if d.tooLate() {
		s.TooLate++
	} else if want := string(d.end()); d.last.State != want {
		s.fault(d, "%s (%s), want %s", d.last.State, d.last.Reason, want)
	}
	if d.repeat != nil {
		if *d.repeat == d.receipt {
			s.Duplicates++
		} else {
			s.fault(d, "the repeat got other ids: %+v, first %+v", *d.repeat, d.receipt)
		}
	}
	if d.operation.OperationID != "" && !d.tooLate() {
		s.countOperation(d)
	}
}

// tooLate reports whether a request was completed before the operation that its
// client raced it with.
func (d *delivery) tooLate() bool {
	refused := d.operation.OperationID == "" || slices.ContainsFunc(d.last.Operations, func(o Operation) bool {
		return o.ID == d.operation.OperationID && o.State == "Refused"
	})
	return d.Racing && d.last.State == string(d.Kind.End) && refused
}

func (s *Summary) countOperation(d *delivery) {
	for _, o := range d.last.Operations {
		if o.ID != d.operation.OperationID {
			continue
		}
		if o.State != "Applied" {
			s.fault(d, "%s is %s: %s", o.Kind, o.State, o.Reason)
		} else if d.Then == workflow.OperationReschedule {
			s.Rescheduled++
		}
		return
	}
	s.fault(d, "operation %s is not in the transaction", d.operation.OperationID)
}

func (s *Summary) judgeQuarantine() {
	if s.Quarantined != poisonEvents {
		s.Faults = append(s.Faults, fmt.Sprintf("quarantine: %d entries, want the %d poison event", s.Quarantined, poisonEvents))
	}
}

func (s *Summary) fault(d *delivery, format string, args ...any) {
	id := d.receipt.TransactionID
	if id == "" {
		id = d.Name
	}
	s.Faults = append(s.Faults, fmt.Sprintf("%s (%s): %s", id, d.Kind.Name, fmt.Sprintf(format, args...)))
}

// OK reports whether the counts add up: every delivery was accepted, ended in
// the state that its kind must end in, and nothing was taken twice.
func (s *Summary) OK() bool {
	return len(s.Faults) == 0 && s.Completed+s.Rejected+s.Compensated+s.Cancelled == s.Deliveries
}

// planned returns the lines for which requests are planned, with what their kinds
// say of them.
func planned(deliveries []*delivery) map[string][]string {
	lines := map[string][]string{}
	add := func(line, text string) {
		if !slices.Contains(lines[line], text) {
			lines[line] = append(lines[line], text)
		}
	}
	for _, d := range deliveries {
		if d.malformed() {
			add("refused", d.Kind.Text)
			continue
		}
		add("accepted", "answered 202 after Event Hubs had acknowledged")
		if d.Twice {
			add("duplicates", "sent again under the same id or key: same ids, done once")
		}
		switch {
		case d.tooLate():
			add("too late", "completed before the client's cancel or change, which was refused")
		case d.Then == workflow.OperationCancel:
			add("cancelled", "by the client: everything undone")
		case d.Then == workflow.OperationReschedule:
			add("rescheduled", "of the completed, changed by the client")
		default:
			add(strings.ToLower(string(d.Kind.End)), d.Kind.Text)
		}
	}
	return lines
}

type line struct {
	name  string
	count int
	note  string
}

func (s *Summary) lines() []line {
	all := []line{
		{name: "accepted", count: s.Accepted}, {name: "refused", count: s.Refused}, {name: "duplicates", count: s.Duplicates},
		{name: "completed", count: s.Completed}, {name: "rejected", count: s.Rejected}, {name: "compensated", count: s.Compensated},
		{name: "cancelled", count: s.Cancelled}, {name: "rescheduled", count: s.Rescheduled},
		{name: "too late", count: s.TooLate},
	}
	for i := range all {
		texts := s.planned[all[i].name]
		slices.Sort(texts)
		all[i].note = strings.Join(texts, "; ")
	}
	return append(all, line{"quarantined", s.Quarantined, "unreadable event put on the hub directly"})
}

// WriteText writes the summary for people.
func (s *Summary) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "\n%d requests in %.1f s (accepted in %.1f s)\n\n", s.Deliveries, s.Total.Seconds(), s.Accepting.Seconds())
	for _, l := range s.lines() {
		if err == nil && l.note != "" {
			_, err = fmt.Fprintf(w, "  %-12s %6d   %s\n", l.name, l.count, l.note)
		}
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "\n  request to completion: p50 %s, p95 %s, p99 %s\n", short(s.P50), short(s.P95), short(s.P99))
	}
	for _, f := range s.Faults {
		if err == nil {
			_, err = fmt.Fprintf(w, "  FAULT %s\n", f)
		}
	}
	if err == nil && s.OK() {
		_, err = fmt.Fprintf(w, "\n  %d accepted = %d completed + %d rejected + %d compensated + %d cancelled: every one is final\n",
			s.Accepted, s.Completed, s.Rejected, s.Compensated, s.Cancelled)
	}
	return err
}

func short(d time.Duration) time.Duration { return d.Round(time.Millisecond) }
