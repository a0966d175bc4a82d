package operate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// CountLimit is how many of anything a survey counts. A count that reaches it says "more".
const CountLimit = 100_000

const (
	surveyEvery = time.Minute
	// surveySlack is for the timer, whose runs are not apart to the millisecond.
	surveySlack = 5 * time.Second
	keptLimit   = 10_000 // of the quarantine
	// foldEvery is for how long a status holds.
	foldEvery = 5 * time.Second
	// storedFor is how old the stored status may get before one who asks stores another:
	// Sweep does in good time.
	storedFor = time.Minute
)

// Told keeps what the status is made of. Implementations are safe for concurrent use.
type Told interface {
	// Report and Surveyed store in place of what the instance, or Sweep, told last. A
	// report expires within minutes.
	Report(ctx context.Context, r Report) error
	Surveyed(ctx context.Context, s Survey) error
	// Reports returns all reports.
	Reports(ctx context.Context) ([]Report, error)
	// Read returns the status that was stored last, nil for none, with the survey
	// of now, whose time is zero if there is none; and the status's ETag.
	Read(ctx context.Context) (*Status, Survey, string, error)
	// Write stores a status in place of the one with the ETag, "" for none. Conflict if
	// there is another. It may leave out the survey.
	Write(ctx context.Context, s Status, etag string) error
}

// Counter counts up to a limit. Implementations are safe for concurrent use.
type Counter interface {
	// InState counts transactions by when they were accepted, Overdue those whose wake
	// was due before a time, and Notices those with notices that were, by when.
	InState(ctx context.Context, state workflow.State, limit int) (Count, error)
	Overdue(ctx context.Context, before workflow.Instant, limit int) (Count, error)
	Notices(ctx context.Context, before workflow.Instant, limit int) (Count, error)
	// Kept counts the entries of the quarantine that nobody has decided about.
	Kept(ctx context.Context, limit int) (Count, error)
}

// Survey finds out how many transactions are open, and what the hub and the queues
// hold, and stores it; not more often than once a minute, whoever runs the timer. Then it
// puts the status together and stores it, so that the history has a point for each minute,
// and logs what is unusual, for the alerts. What can't be found out is told in the survey.
func (s *Service) Survey(ctx context.Context) error {
	_, last, _, err := s.c.Told.Read(ctx)
	if err != nil {
		return fmt.Errorf("survey: %w", err)
	}
	now := s.now()
	due := now.Sub(last.At) >= surveyEvery-surveySlack
	if due {
		if err := s.c.Told.Surveyed(ctx, s.survey(ctx, now)); err != nil {
			return fmt.Errorf("survey: %w", err)
		}
	}
	status, err := s.status(ctx, true)
	if err != nil || !due {
		return err
	}
	for _, u := range status.Unusual {
		s.c.Logger.WarnContext(ctx, "something is unusual", "key", u.Key, "about", u.About, "urgent", u.Urgent, "since", u.Since, "says", u.Says)
	}
	return nil
}

// Well returns an error while something urgent is unusual, as Status tells it.
func (s *Service) Well(ctx context.Context) error {
	status, err := s.Status(ctx)
	if err != nil {
		return err
	}
	if len(status.Unusual) > 0 && status.Unusual[0].Urgent { // what is urgent comes first
		return errors.New(status.Unusual[0].Says)
	}
	return nil
}

func (s *Service) survey(ctx context.Context, now time.Time) Survey {
	ctx, charge := telemetry.WithCharge(ctx)
	out := Survey{At: now, States: map[workflow.State]Count{}}
	find := func(what string, err error) {
		if err != nil {
			out.Failed = append(out.Failed, fmt.Sprintf("%s: %v", what, err))
		}
	}
	var err error
	for _, state := range workflow.States {
		if !state.Final() {
			out.States[state], err = s.c.Counter.InState(ctx, state, CountLimit)
			find("transactions in state "+string(state), err)
		}
	}
	out.Overdue, err = s.c.Counter.Overdue(ctx, workflow.At(now), CountLimit)
	find("overdue wakes", err)
	out.Notices, err = s.c.Counter.Notices(ctx, workflow.At(now), CountLimit)
	find("notices", err)
	out.Quarantine, err = s.c.Counter.Kept(ctx, keptLimit)
	find("quarantine", err)
	out.Partitions, err = s.lags(ctx)
	find("partitions", err)
	out.Queues, err = s.c.Queues(ctx)
	find("queues", err)
	out.Charge = charge.Units()
	return out
}

// lags are of the consumer group in which Relay itself keeps how far it has come.
func (s *Service) lags(ctx context.Context) ([]Lag, error) {
	partitions, err := s.c.Hub.Partitions(ctx)
	var out []Lag
	for _, p := range partitions {
		if p.ConsumerGroup == s.c.ConsumerGroup {
			out = append(out, Lag{p.Partition, p.Lag, p.OldestUnreadAt, p.RenewedAt})
		}
	}
	return out, err
}

// Status returns how things stand, as of a few seconds ago at most. It needs nothing
// but the store: any instance can be asked.
func (s *Service) Status(ctx context.Context) (Status, error) { return s.status(ctx, false) }

// status puts the status together, unless somebody just has. Whoever asks doesn't store
// it as long as a stored one knows the last hour: a write is dearer than all the rest.
func (s *Service) status(ctx context.Context, store bool) (Status, error) {
	s.folding.Lock()
	defer s.folding.Unlock()
	now := s.now()
	if !store && s.folded != nil && now.Sub(s.folded.At) < foldEvery {
		return *s.folded, nil
	}
	stored, survey, etag, err := s.c.Told.Read(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status: %w", err)
	}
	if stored != nil && now.Sub(stored.At) < foldEvery {
		stored.Survey = survey.whole()
		s.folded = stored
		return *stored, nil
	}
	reports, err := s.c.Told.Reports(ctx)
	if err != nil {
		return Status{}, fmt.Errorf("status: %w", err)
	}
	survey = s.recounted(ctx, survey, reports, now)
	previous := stored
	if s.folded != nil && (stored == nil || s.folded.At.After(stored.At)) {
		previous = s.folded
	}
	e := s.c.Engine
	status := fold(previous, e.Shard, e.Definition.Steps, reports, survey, now)
	s.folded = &status
	if !store && stored != nil && now.Sub(stored.At) < storedFor {
		return status, nil
	}
	// Another instance may have done the same meanwhile.
	if err := s.c.Told.Write(ctx, status, etag); err != nil && !failure.Is(err, failure.Conflict) {
		s.c.Logger.WarnContext(ctx, "the status is not stored", telemetry.KeyError, err)
	}
	return status, nil
}
