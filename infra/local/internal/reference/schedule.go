package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// attemptsOf reads how often a call is made: once, as the scheduler of 2018
// does, unless the text says otherwise. The later workflow makes up to 4
// attempts, which wait for 0, 2 and 6 seconds.
func attemptsOf(text string) (int, error) {
	if text == "" {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 4 {
		return 0, fmt.Errorf("REFERENCE_ATTEMPTS: %q is not allowed; allowed: 1 to 4", text)
	}
	return n, nil
}

// errNotUnderstood is why an operation other than a delivery fails.
var errNotUnderstood = errors.New("only deliveries are understood")

// schedule carries out one message. What fails becomes a dead letter at once; an
// error, after which the message comes again, is returned only if that can't be
// done or the outcome can't be kept.
func (a *app) schedule(ctx context.Context, i *customhandler.Invocation) error {
	body, err := i.Bytes("message")
	if err != nil {
		return err
	}
	e, err := message.Decode(body)
	if err == nil && e.Operation != string(workflow.OperationDeliver) {
		err = fmt.Errorf("operation %q: %w", e.Operation, errNotUnderstood)
	}
	var p *workflow.Progress
	if err == nil {
		p, err = a.deliver(ctx, e)
	}
	if err != nil {
		a.logger.ErrorContext(ctx, "message failed", telemetry.KeyTransaction, e.TransactionID, telemetry.KeyError, err)
		return a.deadLetter(ctx, i)
	}
	if _, err := a.transactions.Create(ctx, p); err != nil && !failure.Is(err, failure.Conflict) {
		return err
	}
	return nil
}

// deadLetter moves the message to the dead-letter sub-queue, without a reason.
// The host, which holds the message, then finds that its lock is gone.
func (a *app) deadLetter(ctx context.Context, i *customhandler.Invocation) error {
	text, err := i.Metadata.String("LockToken")
	if err != nil {
		return err
	}
	token, err := uuid.Parse(text)
	if err != nil {
		return fmt.Errorf("lock token: %w", err)
	}
	if err := a.queue.DeadLetterMessage(ctx, &azservicebus.ReceivedMessage{LockToken: token}, nil); err != nil {
		return fmt.Errorf("dead-letter message: %w", err)
	}
	return nil
}

// deliver calls the services one after the other, and returns the outcome. An
// error is a failure that is none of the transaction's.
func (a *app) deliver(ctx context.Context, e message.Envelope) (*workflow.Progress, error) {
	limits := workflow.Limits{CompleteBy: a.settings.Budgets.CompleteBy, DocumentTTL: a.settings.Budgets.DocumentTTL}
	p := a.definition.New(e.TransactionID, time.Now(), limits)
	p.Receive(workflow.Operation{ID: e.OperationID, Kind: workflow.OperationDeliver, Body: e.Body, AcceptedAt: e.AcceptedAt})
	if err := p.Start(time.Now(), limits.CompleteBy); err != nil {
		return nil, err
	}
	for _, step := range a.definition.Steps {
		s := p.Step(step.Name)
		s.State, s.Attempts, s.Tried, s.StartedAt = workflow.StepStarted, 1, p.Revision, workflow.At(time.Now())
		f := a.call(ctx, p, step.Name)
		a.definition.Record(p, []workflow.Finished{f}, workflow.Backoff{}, time.Now())
		switch s.State {
		case workflow.StepSucceeded:
		case workflow.StepRejected:
			reason := step.Name + ": " + s.Error.Message
			p.Operations[0].State, p.Operations[0].Reason = workflow.OperationRefused, reason
			p.Operations[0].EndedAt = workflow.At(time.Now())
			return p, p.Reject(workflow.CauseFailed, reason, time.Now(), limits)
		default:
			return nil, fmt.Errorf("step %s: %d %s %s", step.Name, f.Outcome.Status, f.Outcome.Type, f.Outcome.Message)
		}
	}
	p.Operations[0].State, p.Operations[0].EndedAt = workflow.OperationApplied, workflow.At(time.Now())
	return p, p.Complete("", time.Now(), limits)
}

// call makes a step's call, and repeats it after 0, 2 and 6 seconds if it may:
// as the original, not when there was too much to do (429).
func (a *app) call(ctx context.Context, p *workflow.Progress, step string) workflow.Finished {
	f := workflow.Finished{Step: step}
	for {
		f.Add(a.backends.Do(ctx, engine.Request{
			TransactionID: p.ID, OperationID: p.Operations[0].ID, Revision: p.Revision, Call: a.definition.CallOf(p, step),
		}))
		wait := time.Duration(1<<f.Attempts-2) * time.Second
		if f.Outcome.Retry != workflow.RetryLater || f.Outcome.Status == http.StatusTooManyRequests || f.Attempts == a.attempts || engine.Pause(ctx, wait) != nil {
			return f
		}
	}
}
