package load

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is a run as people are told of it.
type Report struct {
	Target string  `json:"target"`
	Shape  string  `json:"shape"`
	Result *Result `json:"result"`
	// Uses is what the processes took during the run; empty where that can't be told.
	Uses []Use `json:"processes"`
	// Counts is what the app has counted during the run; nil where that can't be told,
	// or would be told of something else.
	Counts *Counts `json:"counts,omitempty"`
}

// Use is what a process took during a run.
type Use struct {
	PID  int           `json:"pid"`
	Name string        `json:"name"`
	CPU  time.Duration `json:"cpuNanoseconds"`
	RSS  int64         `json:"rssBytes"`     // at the end
	Most int64         `json:"mostRSSBytes"` // at the end of any second
}

// NewReport sums up a run that began at a state. names are what processes are
// called, by their ids, if it is something other than their program.
func NewReport(target, shape string, before State, r *Result, names map[int]string) *Report {
	report := &Report{Target: target, Shape: shape, Result: r}
	begun := map[int]time.Duration{}
	for _, p := range before.Processes {
		begun[p.PID] = p.CPU
	}
	uses := map[int]*Use{}
	for _, point := range r.Points {
		if !point.State.Known && before.Known { // the app was away when this second ended
			continue
		}
		if point.State.Known {
			report.Counts = new(point.State.Counts.Since(before.Counts))
		}
		for _, p := range point.State.Processes {
			u := uses[p.PID]
			if u == nil {
				u = &Use{PID: p.PID, Name: cmp.Or(names[p.PID], p.Name)}
				uses[p.PID] = u
			}
			u.CPU, u.RSS, u.Most = p.CPU-begun[p.PID], p.RSS, max(u.Most, p.RSS)
		}
	}
	for _, pid := range slices.Sorted(maps.Keys(uses)) {
		report.Uses = append(report.Uses, *uses[pid])
	}
	return report
}

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	b := &strings.Builder{}
	all := r.Result
	fmt.Fprintf(b, "\n%d requests in %.1f s to %s (%s)\n\n", all.Offered, all.Took.Seconds(), r.Target, r.Shape)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row(t, "", "requests", "a second", "p50", "p90", "p99", "p99.9", "max")
	row(t, "offered", count(all.Offered), rate(all.Offered, all.Took), "", "", "", "", "")
	row(t, append([]string{"accepted", count(all.Accepted), rate(all.Accepted, all.Took)}, all.Latency.columns()...)...)
	row(t, append([]string{"refused", count(all.Refused), rate(all.Refused, all.Took)}, all.Refusal.columns()...)...)
	row(t, "failed", count(all.Failed), rate(all.Failed, all.Took), "", "", "", "", "")
	row(t, append([]string{"sent late by", "", ""}, all.Late.columns()...)...)
	t.Flush() // a Builder takes everything
	if all.Failure != "" {
		fmt.Fprintf(b, "\nthe first that failed: %s\n", all.Failure)
	}
	r.writeUses(b)
	r.writeCounts(b)
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeUses(b *strings.Builder) {
	if len(r.Uses) == 0 {
		return
	}
	fmt.Fprintln(b)
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row(t, "process", "CPU s", "ms a request", "memory MB", "most MB")
	for _, u := range r.Uses {
		row(t, u.Name, decimal(u.CPU.Seconds()), per(u.CPU.Seconds()*1000, float64(r.Result.Offered)),
			megabytes(u.RSS), megabytes(u.Most))
	}
	t.Flush()
}

func (r *Report) writeCounts(b *strings.Builder) {
	c := r.Counts
	if c == nil {
		return
	}
	fmt.Fprintf(b, "\n%.0f came to their end, %d wait", c.Ended, c.Backlog())
	if c.Ended == 0 {
		fmt.Fprintln(b)
		return
	}
	fmt.Fprint(b, "; for each that ended:\n\n")
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	row(t, "container", "operations", "RU")
	var operations, units float64
	for _, name := range slices.Sorted(maps.Keys(c.Units)) {
		operations, units = operations+c.Operations[name], units+c.Units[name]
		row(t, name, per(c.Operations[name], c.Ended), per(c.Units[name], c.Ended))
	}
	row(t, "together", per(operations, c.Ended), per(units, c.Ended))
	row(t, "", "", "")
	row(t, "function", "invocations", "")
	for _, name := range slices.Sorted(maps.Keys(c.Invocations)) {
		row(t, name, per(c.Invocations[name], c.Ended), "")
	}
	t.Flush()
}

// row writes a line of a table; the first column is aligned to the left by hand,
// since a tabwriter aligns all columns alike.
func row(w io.Writer, columns ...string) {
	fmt.Fprintf(w, "%-22s\t%s\t\n", columns[0], strings.Join(columns[1:], "\t"))
}

func (l Latency) columns() []string {
	if l.Count == 0 {
		return []string{"", "", "", "", ""}
	}
	var texts []string
	for _, d := range []time.Duration{l.P50, l.P90, l.P99, l.P999, l.Max} {
		texts = append(texts, milliseconds(d))
	}
	return texts
}

func milliseconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
}

func count(n int) string { return strconv.Itoa(n) }

func rate(n int, took time.Duration) string { return per(float64(n), took.Seconds()) }

// per is a quotient for people, nothing if there is none.
func per(n, of float64) string {
	if of <= 0 {
		return ""
	}
	return decimal(n / of)
}

func decimal(n float64) string {
	digits := 2
	if n >= 100 {
		digits = 0
	}
	return strconv.FormatFloat(n, 'f', digits, 64)
}

func megabytes(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', 0, 64) }
