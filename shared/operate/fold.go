package operate

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// historyPoints is how many minutes History has.
const historyPoints = 60

// fold puts together what the instances and Sweep have told. previous is the status
// before, nil for none: it knows what the last hour was like, and since when something is
// unusual.
func fold(previous *Status, of shard.Number, steps []workflow.Step, reports []Report, survey Survey, now time.Time) Status {
	s := Status{
		At: now, Shard: of, Survey: survey.whole(), Steps: []StepFlow{}, Breakers: []Breaker{}, Ends: map[workflow.State]float64{}, Instances: []InstanceFlow{},
	}
	calls, open := map[string]*StepFlow{}, map[string]*Breaker{}
	var latency float64
	for _, r := range reports {
		age := now.Sub(r.At)
		if age > present {
			continue
		}
		s.Instances = append(s.Instances, InstanceFlow{r.Instance, r.At})
		if age > current {
			continue
		}
		s.Accepting.add(r.Accepting)
		s.Database.PerSecond += r.Database.PerSecond
		s.Database.ThrottledPerSecond += r.Database.ThrottledPerSecond
		for _, step := range r.Steps {
			if calls[step.Step] == nil {
				calls[step.Step] = &StepFlow{Step: step.Step, Backend: step.Backend}
			}
			calls[step.Step].add(step)
		}
		for backend, since := range r.Breakers {
			b := open[backend]
			if b == nil {
				b = &Breaker{Backend: backend, Since: since}
				open[backend] = b
			}
			b.Instances++
			if since.Before(b.Since) {
				b.Since = since
			}
		}
		for state, rate := range r.Ends {
			s.Ends[state] += rate
		}
		s.UndosBegun += r.UndosBegun
		s.SignInsRefused += r.SignInsRefused
		if u := r.UnsentSince; !u.IsZero() && (s.UnsentSince.IsZero() || u.Before(s.UnsentSince)) {
			s.UnsentSince = u
		}
		latency += r.Latency * r.Ends[workflow.Completed]
	}
	for i := range steps {
		if c := calls[steps[i].Name]; c != nil {
			if c.UndoneAt.After(c.UndoRefusedAt) { // maybe by another instance than was refused
				c.UndoRefusedAt = time.Time{}
			}
			c.UndoneAt = time.Time{}
			s.Steps = append(s.Steps, *c)
		}
	}
	for _, b := range open {
		s.Breakers = append(s.Breakers, *b)
	}
	slices.SortFunc(s.Breakers, func(a, b Breaker) int { return cmp.Compare(a.Backend, b.Backend) })
	slices.SortFunc(s.Instances, func(a, b InstanceFlow) int { return cmp.Compare(a.Instance, b.Instance) })
	if completed := s.Ends[workflow.Completed]; completed > 0 {
		latency /= completed
	}
	var before History
	if previous != nil {
		before = previous.History
	}
	s.History = before.next(now, s.backlog(), short(s.Accepting.PerSecond), short(s.Ends[workflow.Completed]), short(latency))
	s.Unusual = lasting(previous, unusual(&s, steps))
	return s
}

// whole returns a survey without what is nil.
func (s Survey) whole() Survey {
	s.Partitions, s.Queues = append([]Lag{}, s.Partitions...), append([]QueueCount{}, s.Queues...)
	if s.States == nil {
		s.States = map[workflow.State]Count{}
	}
	return s
}

func (a *Accepting) add(b Accepting) {
	a.PerSecond += b.PerSecond
	a.FailedPerSecond += b.FailedPerSecond
	a.RefusedPerSecond += b.RefusedPerSecond
	a.Buffer += b.Buffer
	a.Room += b.Room
	a.Fullest = max(a.Fullest, b.Fullest)
}

func (s *StepFlow) add(b StepFlow) {
	s.InFlight += b.InFlight
	s.PerSecond += b.PerSecond
	s.FailedPerSecond += b.FailedPerSecond
	s.Error = cmp.Or(s.Error, b.Error)
	if b.UndoRefusedAt.After(s.UndoRefusedAt) {
		s.UndoRefusedAt = b.UndoRefusedAt
	}
	if b.UndoneAt.After(s.UndoneAt) {
		s.UndoneAt = b.UndoneAt
	}
}

// backlog is how many events and messages wait.
func (s *Status) backlog() int64 {
	var n int64
	for _, p := range s.Survey.Partitions {
		n += p.Lag
	}
	for _, q := range s.Survey.Queues {
		n += q.Active
	}
	return n
}

// short is a number with three places, which is enough for a picture and little to
// store.
func short(n float64) float64 { return math.Round(n*1000) / 1000 }

// next returns the history with what is known of the present minute; h stays as it is.
// Minutes of which nobody asked have zeros.
func (h History) next(now time.Time, backlog int64, accepted, completed, latency float64) History {
	minute := now.Truncate(time.Minute)
	from := minute.Add(-(historyPoints - 1) * time.Minute)
	return History{
		From: from, Backlog: shifted(h.Backlog, h.From, from, backlog), Accepted: shifted(h.Accepted, h.From, from, accepted),
		Completed: shifted(h.Completed, h.From, from, completed), Latency: shifted(h.Latency, h.From, from, latency),
	}
}

// shifted returns a row of points that begins at a minute, with what is known of
// them from a row that began at another, and the last one as given.
func shifted[T any](old []T, began, from time.Time, last T) []T {
	out := make([]T, historyPoints)
	if by := from.Sub(began) / time.Minute; by >= 0 && by < time.Duration(len(old)) {
		copy(out, old[by:])
	}
	out[historyPoints-1] = last
	return out
}

// lasting gives what is unusual still the time since when it is.
func lasting(previous *Status, found []Unusual) []Unusual {
	if previous == nil {
		return found
	}
	for i := range found {
		at := slices.IndexFunc(previous.Unusual, func(u Unusual) bool { return u.Key == found[i].Key })
		if at >= 0 && previous.Unusual[at].Since.Before(found[i].Since) {
			found[i].Since = previous.Unusual[at].Since
		}
	}
	return found
}
