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
	Requests    int `json:"requests"`   // distinct well-formed requests
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

func summarize(requests []*request) *Summary {
	s := &Summary{Faults: []string{}, planned: planned(requests)}
	var latencies []time.Duration
	seen := map[string]string{}
	for _, r := range requests {
		if r.malformed() {
			s.countRefused(r)
			continue
		}
		s.Requests++
		if r.err != nil {
			s.fault(r, "not accepted: %v", r.err)
			continue
		}
		s.Accepted++
		if other, taken := seen[r.receipt.TransactionID]; taken {
			s.fault(r, "has the TransactionID of another request (%s)", other)
		}
		seen[r.receipt.TransactionID] = r.Kind.Name
		s.countEnd(r)
		if r.last.State == "Completed" && r.Then == "" {
			latencies = append(latencies, r.last.EndedAt.Sub(r.sent))
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

func (s *Summary) countRefused(r *request) {
	if Status(r.err) == http.StatusBadRequest {
		s.Refused++
		return
	}
	s.fault(r, "malformed, but answered with %v instead of 400", r.err)
}

// countEnd counts the state that r ended in and what was asked of it on the way.
func (s *Summary) countEnd(r *request) {
	switch r.last.State {
	case "Completed":
		s.Completed++
	case "Rejected":
		s.Rejected++
	case "Compensated":
		s.Compensated++
	case "Cancelled":
		s.Cancelled++
	}
	if r.tooLate() {
		s.TooLate++
	} else if want := string(r.end()); r.last.State != want {
		s.fault(r, "%s (%s), want %s", r.last.State, r.last.Reason, want)
	}
	if r.repeat != nil {
		if *r.repeat == r.receipt {
			s.Duplicates++
		} else {
			s.fault(r, "the repeat got other ids: %+v, first %+v", *r.repeat, r.receipt)
		}
	}
	if r.operation.OperationID != "" && !r.tooLate() {
		s.countOperation(r)
	}
}

// tooLate reports whether a request was completed before the operation that its
// client raced it with.
func (r *request) tooLate() bool {
	refused := r.operation.OperationID == "" || slices.ContainsFunc(r.last.Operations, func(o Operation) bool {
		return o.ID == r.operation.OperationID && o.State == "Refused"
	})
	return r.Racing && r.last.State == string(r.Kind.End) && refused
}

func (s *Summary) countOperation(r *request) {
	for _, o := range r.last.Operations {
		if o.ID != r.operation.OperationID {
			continue
		}
		if o.State != "Applied" {
			s.fault(r, "%s is %s: %s", o.Kind, o.State, o.Reason)
		} else if r.Then == workflow.OperationReschedule {
			s.Rescheduled++
		}
		return
	}
	s.fault(r, "operation %s is not in the transaction", r.operation.OperationID)
}

func (s *Summary) judgeQuarantine() {
	if s.Quarantined != poisonEvents {
		s.Faults = append(s.Faults, fmt.Sprintf("quarantine: %d entries, want the %d poison event", s.Quarantined, poisonEvents))
	}
}

func (s *Summary) fault(r *request, format string, args ...any) {
	id := r.receipt.TransactionID
	if id == "" {
		id = r.Name
	}
	s.Faults = append(s.Faults, fmt.Sprintf("%s (%s): %s", id, r.Kind.Name, fmt.Sprintf(format, args...)))
}

// OK reports whether the counts add up: every request was accepted, ended in
// the state that its kind must end in, and nothing was taken twice.
func (s *Summary) OK() bool {
	return len(s.Faults) == 0 && s.Completed+s.Rejected+s.Compensated+s.Cancelled == s.Requests
}

// planned returns the lines for which requests are planned, with what their kinds
// say of them.
func planned(requests []*request) map[string][]string {
	lines := map[string][]string{}
	add := func(line, text string) {
		if !slices.Contains(lines[line], text) {
			lines[line] = append(lines[line], text)
		}
	}
	for _, r := range requests {
		if r.malformed() {
			add("refused", r.Kind.Text)
			continue
		}
		add("accepted", "answered 202 after Event Hubs had acknowledged")
		if r.Twice {
			add("duplicates", "sent again under the same id or key: same ids, done once")
		}
		switch {
		case r.tooLate():
			add("too late", "completed before the client's cancel or change, which was refused")
		case r.Then == workflow.OperationCancel:
			add("cancelled", "by the client: everything undone")
		case r.Then == workflow.OperationReschedule:
			add("rescheduled", "of the completed, changed by the client")
		default:
			add(strings.ToLower(string(r.Kind.End)), r.Kind.Text)
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
	_, err := fmt.Fprintf(w, "\n%d requests in %.1f s (accepted in %.1f s)\n\n", s.Requests, s.Total.Seconds(), s.Accepting.Seconds())
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

func short(r time.Duration) time.Duration { return r.Round(time.Millisecond) }
