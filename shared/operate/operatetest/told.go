package operatetest

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Told keeps in memory what a status is made of, counts what a store has, and knows
// the queues by heart.
type Told struct {
	Store        *workflowtest.Store // whose transactions are counted
	Counts       []operate.QueueCount
	InQuarantine int          // undecided
	Fail         func() error // asked before each use; nil never fails

	mu      sync.Mutex
	reports map[string]operate.Report
	survey  operate.Survey
	status  *operate.Status
	written int // is the ETag
	asked   int
}

var (
	_ operate.Told    = (*Told)(nil)
	_ operate.Counter = (*Told)(nil)
)

// use has fn done under the lock, unless it is to fail.
func (s *Told) use(fn func()) error {
	if s.Fail != nil {
		if err := s.Fail(); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	fn()
	return nil
}

// Asked tells how often the store was used.
func (s *Told) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Report implements operate.Told.
func (s *Told) Report(_ context.Context, r operate.Report) error {
	return s.use(func() {
		if s.reports == nil {
			s.reports = map[string]operate.Report{}
		}
		s.reports[r.Instance] = r
	})
}

// Surveyed implements operate.Told.
func (s *Told) Surveyed(_ context.Context, survey operate.Survey) error {
	return s.use(func() { s.survey = survey })
}

// Reports implements operate.Told.
func (s *Told) Reports(context.Context) (reports []operate.Report, err error) {
	err = s.use(func() {
		for _, r := range s.reports {
			reports = append(reports, r)
		}
	})
	return reports, err
}

// Read implements operate.Told.
func (s *Told) Read(context.Context) (status *operate.Status, survey operate.Survey, etag string, err error) {
	err = s.use(func() {
		if survey = s.survey; s.status != nil {
			kept := *s.status
			status, etag = &kept, strconv.Itoa(s.written)
		}
	})
	return status, survey, etag, err
}

// Write implements operate.Told.
func (s *Told) Write(_ context.Context, status operate.Status, etag string) (err error) {
	used := s.use(func() {
		if s.status != nil && etag != strconv.Itoa(s.written) || s.status == nil && etag != "" {
			err = failure.New(failure.Conflict, "write", "status", nil)
			return
		}
		s.status, s.written = &status, s.written+1
	})
	return errors.Join(used, err)
}

// InState implements operate.Counter.
func (s *Told) InState(_ context.Context, state workflow.State, limit int) (operate.Count, error) {
	return s.count(limit, func(p *workflow.Progress) (time.Time, bool) { return p.AcceptedAt.Time, p.State == state })
}

// Overdue implements operate.Counter.
func (s *Told) Overdue(_ context.Context, before workflow.Instant, limit int) (operate.Count, error) {
	return s.count(limit, func(p *workflow.Progress) (time.Time, bool) {
		return p.WakeAt.Time, !p.WakeAt.IsZero() && p.WakeAt.Before(before.Time)
	})
}

// Notices implements operate.Counter.
func (s *Told) Notices(_ context.Context, before workflow.Instant, limit int) (operate.Count, error) {
	return s.count(limit, func(p *workflow.Progress) (time.Time, bool) {
		return p.Outbox.At.Time, len(p.Outbox.Notices) > 0 && p.Outbox.At.Before(before.Time)
	})
}

// Kept implements operate.Counter: there is no quarantine here, but its count.
func (s *Told) Kept(_ context.Context, limit int) (operate.Count, error) {
	var out operate.Count
	err := s.use(func() { out = operate.Count{Count: min(s.InQuarantine, limit), More: s.InQuarantine > limit} })
	return out, err
}

func (s *Told) count(limit int, which func(*workflow.Progress) (time.Time, bool)) (operate.Count, error) {
	var out operate.Count
	err := s.use(func() {
		for _, p := range s.Store.All() {
			if at, found := which(p); found {
				out.Add(at, limit)
			}
		}
	})
	return out, err
}

// Queues are the messages of the queues.
func (s *Told) Queues(context.Context) ([]operate.QueueCount, error) {
	return s.Counts, nil
}
