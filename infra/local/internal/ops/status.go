package ops

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// WriteStatus writes how things stand for people: what is unusual first, then the
// flow, in its order.
func WriteStatus(w io.Writer, list []Of[operate.Status]) error {
	for _, o := range list {
		name := ""
		if o.Shard != 0 {
			name = fmt.Sprintf("shard %d, ", o.Shard)
		}
		if _, err := fmt.Fprint(w, name, statusText(o.One)); err != nil {
			return err
		}
	}
	return nil
}

func statusText(s operate.Status) string {
	var out strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	say("%s, instances: %d", moment(s.At), len(s.Instances))
	if len(s.Unusual) == 0 {
		say("all is well")
	}
	for _, u := range s.Unusual {
		mark := "-"
		if u.Urgent {
			mark = "!"
		}
		say("%s %s Since %s.\n  %s See docs/operations.md#%s", mark, line(u.Says), moment(u.Since), line(u.Do), line(u.About))
	}
	a, v := s.Accepting, s.Survey
	say("accepting    %s/s, not acknowledged %s/s, refused %s/s, %d in buffers of %d", rate(a.PerSecond), rate(a.FailedPerSecond), rate(a.RefusedPerSecond), a.Buffer, a.Room)
	var lag int64
	for _, p := range v.Partitions {
		lag += p.Lag
	}
	say("hub          %d events behind in %d partitions", lag, len(v.Partitions))
	for _, q := range v.Queues {
		say("queue        %s: %d active, %d scheduled, %d dead", cell(q.Queue), q.Active, q.Scheduled, q.Dead)
	}
	for _, f := range s.Steps {
		open := ""
		if slices.ContainsFunc(s.Breakers, func(b operate.Breaker) bool { return b.Backend == f.Backend }) {
			open = ", breaker open"
		}
		if f.Error != "" {
			open = " (" + line(f.Error) + ")" + open
		}
		say("step         %s at %s: %d in flight, %s/s, failed %s/s%s", cell(f.Step), cell(f.Backend), f.InFlight, rate(f.PerSecond), rate(f.FailedPerSecond), open)
	}
	say("database     %s tries/s, throttled %s/s", rate(s.Database.PerSecond), rate(s.Database.ThrottledPerSecond))
	say("undos        %s/s begun", rate(s.UndosBegun))
	for _, state := range workflow.States {
		if n := s.Ends[state]; n > 0 {
			say("ended        %s %s/s", state, rate(n))
		}
	}
	for _, state := range workflow.States {
		if n, counted := v.States[state]; counted {
			say("%-12s %s", state, count(n, "accepted"))
		}
	}
	say("quarantine   %s", count(v.Quarantine, "kept"))
	say("notices      %s", count(v.Notices, "due"))
	say("counted      %s, for %.0f RU", moment(v.At), v.Charge)
	return out.String()
}

func rate(perSecond float64) string { return fmt.Sprintf("%.1f", perSecond) }

// count shows how many there are, and since when there is the oldest.
func count(c operate.Count, oldest string) string {
	out := fmt.Sprint(c.Count)
	if c.More {
		out = "more than " + out
	}
	if !c.OldestAt.IsZero() {
		out += fmt.Sprintf(", the oldest %s %s", oldest, c.OldestAt.UTC().Format(time.RFC3339))
	}
	return out
}
