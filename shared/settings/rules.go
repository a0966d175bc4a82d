package settings

import (
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// ClockMargin is the difference between the clocks of two machines that leases
// allow for.
const ClockMargin = 5 * time.Second

// batchMargin is left of functionTimeout behind the longest batch.
const batchMargin = 30 * time.Second

// Rules returns every rule between the settings, those of the business among them,
// and whether it holds for s. Load refuses settings that break one.
func (s Settings) Rules(of business.Business) []business.Rule {
	rules := append(s.ownRules(), s.schedulerRules(s.LongestBatch(of), of.Workflow.LongestCall(s.Budgets.Call))...)
	for _, step := range of.Workflow.Steps {
		if step.CallTimeout == 0 {
			continue
		}
		rules = append(rules, business.Rule{Names: []string{"BREAKER_DELAY_SECONDS"}, Text: fmt.Sprintf(
			"BREAKER_DELAY_SECONDS (%v) must not be less than the call time-out of step %s (%v): calls from before the opening must have ended before new ones are tried",
			s.Backends.Breaker.Delay, step.Name, step.CallTimeout), Holds: step.CallTimeout <= s.Backends.Breaker.Delay})
	}
	if of.Rules != nil {
		rules = append(rules, of.Rules(s.Business)...)
	}
	return rules
}

func (s Settings) ownRules() []business.Rule {
	b, w := s.Budgets, s.Writer
	rule := func(names []string, text string, holds bool) business.Rule {
		return business.Rule{Names: names, Text: text, Holds: holds}
	}
	less := func(a string, x time.Duration, than string, y time.Duration, why string) business.Rule {
		return rule([]string{a, than}, fmt.Sprintf("%s (%v) must be less than %s (%v): %s", a, x, than, y, why), x < y)
	}
	upTo := func(a string, x time.Duration, than string, y time.Duration, why string) business.Rule {
		return rule([]string{a, than}, fmt.Sprintf("%s (%v) must not be more than %s (%v): %s", a, x, than, y, why), x <= y)
	}
	return []business.Rule{
		less("CALL_TIMEOUT_SECONDS", b.Call, "STEP_TIMEOUT_SECONDS", b.Step, "a step needs room for a second attempt"),
		upTo("CALL_TIMEOUT_SECONDS", b.Call, "BREAKER_DELAY_SECONDS", s.Backends.Breaker.Delay,
			"calls from before the opening must have ended before new ones are tried"),
		less("STEP_TIMEOUT_SECONDS", b.Step, "INVOCATION_TIMEOUT_SECONDS", b.Invocation, "an invocation runs several steps and saves"),
		less("INVOCATION_TIMEOUT_SECONDS", b.Invocation, "LEASE_SECONDS", b.Lease, "a runner must have stopped before its lease ends"),
		rule([]string{"CALL_TIMEOUT_SECONDS", "LEASE_SECONDS"}, fmt.Sprintf(
			"CALL_TIMEOUT_SECONDS (%v) and %v must be less than LEASE_SECONDS (%v): no call starts that could outlast the lease on another's clock",
			b.Call, ClockMargin, b.Lease), b.Call+ClockMargin < b.Lease),
		less("INVOCATION_TIMEOUT_SECONDS", b.Invocation, "FUNCTION_TIMEOUT_SECONDS", b.FunctionTimeout,
			"the host kills the handler with all its invocations when one takes too long"),
		upTo("INVOCATION_TIMEOUT_SECONDS", b.Invocation, "LOCK_RENEWAL_SECONDS", b.LockRenewal,
			"a message must stay locked during the work on it"),
		upTo("MESSAGE_LOCK_SECONDS", b.MessageLock, "LOCK_RENEWAL_SECONDS", b.LockRenewal, "renewal begins inside the first lock"),
		upTo("LEASE_SECONDS", b.Lease, "LOCK_RENEWAL_SECONDS", b.LockRenewal,
			"a dead invocation's lease must not outlast its message's lock"),
		less("LEASE_SECONDS", b.Lease, "DUPLICATE_WINDOW_SECONDS", b.DuplicateWindow,
			"the next runner sends a wake again, and the queue must recognize the repeat"),
		less("LATER_MIN_SECONDS", b.LaterMin, "LATER_MAX_SECONDS", b.LaterMax, "delays grow from the one to the other"),
		less("LATER_MAX_SECONDS", b.LaterMax, "COMPLETE_BY_HOURS", b.CompleteBy, "a run must notice the limit"),
		less("LATER_MAX_SECONDS", b.LaterMax, "QUEUE_TTL_HOURS", b.QueueTTL, "a wake must not expire before it is due"),
		upTo("ACCEPT_TARGET_MS", b.AcceptTarget, "ACCEPT_TIMEOUT_SECONDS", b.Accept, "what is given up is too slow"),
		less("ACCEPT_TIMEOUT_SECONDS", b.Accept, "FUNCTION_TIMEOUT_SECONDS", b.FunctionTimeout, "the client gets our answer, not the host's"),
		rule([]string{"DOCUMENT_TTL_DAYS", "HUB_RETENTION_HOURS", "QUEUE_TTL_HOURS"}, fmt.Sprintf(
			"DOCUMENT_TTL_DAYS (%v) must be more than HUB_RETENTION_HOURS and QUEUE_TTL_HOURS together (%v): "+
				"no message may outlive the document that identifies it as a repeat", b.DocumentTTL, b.HubRetention+b.QueueTTL),
			b.DocumentTTL > b.HubRetention+b.QueueTTL),
		rule([]string{"WRITER_BATCH_EVENTS", "WRITER_BUFFER_EVENTS"}, fmt.Sprintf(
			"WRITER_BATCH_EVENTS (%d) must not be more than WRITER_BUFFER_EVENTS (%d): a batch is filled from the buffer",
			w.Events, w.BufferEvents), w.Events <= w.BufferEvents),
		rule([]string{"EVENTHUB_CONSUMER_GROUP"},
			"EVENTHUB_CONSUMER_GROUP must not be $Default: Relay reads there what its trigger has skipped", s.ConsumerGroup != "$Default"),
		rule([]string{"TRANSACTIONS_QUEUE", "COMPENSATIONS_QUEUE"},
			"TRANSACTIONS_QUEUE and COMPENSATIONS_QUEUE must be two queues", s.TransactionsQueue != s.CompensationsQueue),
		rule([]string{"NOTIFICATIONS_QUEUE"}, "NOTIFICATIONS_QUEUE must be a queue of its own: a receiver that is down must not hold up the others",
			s.NotificationsQueue != s.TransactionsQueue && s.NotificationsQueue != s.CompensationsQueue),
		rule([]string{"NOTIFY_URL", "NOTIFY_SIGNING_KEY"}, "NOTIFY_URL needs NOTIFY_SIGNING_KEY: its receiver must be able to tell who sends",
			s.Notify.URL == "" || s.Notify.Key.Set()),
		rule([]string{"SMTP_URL", "MAIL_FROM"}, "SMTP_URL needs MAIL_FROM: mail has a sender", s.Notify.Mail.URL == "" || s.Notify.Mail.From != ""),
		rule([]string{"SMTP_USER", "SMTP_PASSWORD"}, "SMTP_USER needs SMTP_PASSWORD: the server asks for both", s.Notify.Mail.User == "" || s.Notify.Mail.Password.Set()),
		rule([]string{"SMTP_URL", "SMTP_TIMEOUT_SECONDS", "INVOCATION_TIMEOUT_SECONDS"}, fmt.Sprintf(
			"SMTP_URL needs SMTP_TIMEOUT_SECONDS (%v) to be less than INVOCATION_TIMEOUT_SECONDS (%v): a mail must fit into an invocation",
			s.Notify.Mail.Timeout, b.Invocation), s.Notify.Mail.URL == "" || s.Notify.Mail.Timeout < b.Invocation),
		rule([]string{"NOTIFY_SIGNING_KEY"}, "NOTIFY_SIGNING_KEY must be whsk_ and 32 bytes in base64, or nothing", signs(s.Notify.Key)),
		rule([]string{"NOTIFY_SIGNING_KEY_PREVIOUS"}, "NOTIFY_SIGNING_KEY_PREVIOUS must be whsk_ and 32 bytes in base64, or nothing", signs(s.Notify.PreviousKey)),
		rule([]string{"ID_KEYS"}, "ID_KEYS "+shard.ErrIDKeys.Error()+", or nothing", mints(s.IDKeys)),
		rule([]string{"AUTH_MODE", "ID_KEYS"}, "AUTH_MODE other than off needs ID_KEYS where Ingest or Progress run: all instances must know the ids of each other",
			s.Auth.Mode == AuthOff || s.IDKeys.Set() || !s.Functions.Has("Ingest") && !s.Functions.Has("Progress")),
		rule([]string{"AUTH_MODE", "AUTH_ISSUER"}, "AUTH_MODE entra needs AUTH_ISSUER: tokens are worth nothing without one who signs them",
			s.Auth.Mode != AuthEntra || s.Auth.Issuer != ""),
		rule([]string{"AUTH_MODE", "AUTH_AUDIENCE"}, "AUTH_MODE entra needs AUTH_AUDIENCE: a token for another system must not open this one",
			s.Auth.Mode != AuthEntra || len(s.Auth.Audiences) > 0),
		less("LATER_MAX_SECONDS", b.LaterMax, "NOTIFY_HOURS", s.Notify.GiveUpAfter, "a notice is tried more than once"),
		less("NOTIFY_HOURS", s.Notify.GiveUpAfter, "DOCUMENT_TTL_DAYS", b.DocumentTTL, "a notice must not expire with its transaction unnoticed"),
	}
}

// schedulerRules are those of a handler that runs events in Relay, where a batch takes
// up to longest, and a call up to call. With SCHEDULER queue they hold.
func (s Settings) schedulerRules(longest, call time.Duration) []business.Rule {
	c, b := s.Scheduler, s.Budgets
	return []business.Rule{
		{Names: []string{"SCHEDULER", "STREAM_PATIENCE_SECONDS", "INVOCATION_TIMEOUT_SECONDS"}, Text: fmt.Sprintf(
			"SCHEDULER %s: STREAM_PATIENCE_SECONDS (%v) and the longest call (%v) must not be more than INVOCATION_TIMEOUT_SECONDS (%v): patience ends before the work does",
			c.Mode, c.Patience, call, b.Invocation), Holds: c.Mode != SchedulerStream || c.Patience+call <= b.Invocation},
		{Names: []string{"SCHEDULER", "SCHEDULER_IN_FLIGHT", "EVENTHUB_BATCH_EVENTS", "FUNCTION_TIMEOUT_SECONDS"}, Text: fmt.Sprintf(
			"SCHEDULER %s: a batch of EVENTHUB_BATCH_EVENTS (%d) with SCHEDULER_IN_FLIGHT (%d) may take %v, which must be %v less than FUNCTION_TIMEOUT_SECONDS (%v): "+
				"the host kills the handler with all its invocations when one takes too long",
			c.Mode, c.BatchEvents, c.InFlight, longest, batchMargin, b.FunctionTimeout),
			Holds: c.Mode == SchedulerQueue || longest+batchMargin <= b.FunctionTimeout},
		{Names: []string{"SCHEDULER", "RELAY_QUIET_SECONDS"}, Text: fmt.Sprintf(
			"SCHEDULER %s: RELAY_QUIET_SECONDS (%v) must not be less than the longest batch (%v): a partition at work is not quiet",
			c.Mode, s.RelayQuiet, longest), Holds: c.Mode == SchedulerQueue || longest <= s.RelayQuiet},
	}
}

// mints reports whether a secret is keys of ids, if it is anything.
func mints(keys Secret) bool {
	_, err := shard.ParseIDKeys(keys.Reveal())
	return err == nil
}

// signs reports whether a secret is a signing key, if it is anything. It is a
// rule and no parser, since a parser's fault shows the value.
func signs(key Secret) bool {
	_, err := notify.ParseSigningKey(key.Reveal())
	return err == nil || !key.Set()
}
