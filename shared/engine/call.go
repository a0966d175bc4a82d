package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The in-place retries wait for firstPause, doubling up to longestPause, less
// the jitter. A service that asks for a time to wait is not waited for here: the
// invocation would hold a place that others could use. A later wake calls it.
const (
	firstPause   = 200 * time.Millisecond
	longestPause = 2 * time.Second
)

// attempt calls for one step in flight: a few times in place, as long as the
// step, the invocation and the lease leave time for a whole call.
func (s *session) attempt(ctx context.Context, step string, a Attempt) workflow.Finished {
	f := workflow.Finished{Step: step, Began: s.r.Now()}
	b := s.r.Budgets
	end := earliest(f.Began.Add(b.StepTimeout), s.deadline, s.p.Lease.Until.Add(-LeaseMargin))
	ctx = telemetry.With(ctx, slog.String(telemetry.KeyStep, step))
	first := a.Number
	for ctx.Err() == nil && !s.r.Now().Add(a.Timeout).After(end) {
		a.Number = first + f.Attempts
		f.Add(s.r.Backends.Do(telemetry.With(ctx, slog.Int(telemetry.KeyAttempt, a.Number)), a))
		o := f.Outcome
		if o.Retry == workflow.RetryNone {
			if a.Undo && s.p.Step(step).Effect == workflow.EffectMaybe {
				s.r.Log.InfoContext(ctx, "undone, whether it was done or not", telemetry.KeyTransaction, s.p.ID, telemetry.KeyStep, step)
			}
			break
		}
		s.logFailure(ctx, a, o)
		pause := s.shortDelay(f.Attempts)
		if o.Retry == workflow.RetryNever || o.RetryAfter > 0 || f.Attempts == b.InPlaceAttempts ||
			s.impatient(s.r.Now().Add(pause)) || s.r.Pause(ctx, pause) != nil {
			break
		}
	}
	if o := f.Outcome; a.Undo && o.UndoRefused() {
		s.r.Log.WarnContext(ctx, "undo refused", telemetry.KeyTransaction, s.p.ID, telemetry.KeyStep, step, telemetry.KeyAttempt, a.Number,
			telemetry.KeyStatus, o.Status, "type", o.Type, telemetry.KeyError, o.Message)
	}
	return f
}

// logFailure warns of what may need somebody's eyes. A service that said no, or
// that it is busy, works as it should, and so does a limit on this side, which
// refuses a call with a time to wait.
func (s *session) logFailure(ctx context.Context, a Attempt, o workflow.Outcome) {
	level := slog.LevelWarn
	if o.Effect == workflow.EffectNo && (o.Status != 0 || o.RetryAfter > 0) {
		level = slog.LevelInfo
	}
	s.r.Log.Log(ctx, level, "call failed", telemetry.KeyTransaction, s.p.ID, telemetry.KeyStep, a.Step, telemetry.KeyOperation, a.OperationID,
		telemetry.KeyAttempt, a.Number, "undo", a.Undo, telemetry.KeyStatus, o.Status, "type", o.Type, telemetry.KeyError, o.Message)
}

// shortDelay is the pause behind the nth failure in place.
func (s *session) shortDelay(n int) time.Duration {
	return workflow.Backoff{Min: firstPause / 2, Max: longestPause, Jitter: s.jitter}.Delay(n + 1)
}

func earliest(t time.Time, others ...time.Time) time.Time {
	for _, o := range others {
		if o.Before(t) {
			t = o
		}
	}
	return t
}
