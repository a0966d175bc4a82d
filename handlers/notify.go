package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// noticePatience is the part of an invocation's time for which a notice waits
// for its turn, a quarter: so long a message of an outage is held, and so rarely
// it comes back.
const noticePatience = 4

// openReceiver returns who is told of transactions that come to rest, nil when
// nobody is.
func openReceiver(b business.Business, s settings.Settings, logger *slog.Logger) (*notify.Webhook, error) {
	if !s.Notify.On() {
		return nil, nil
	}
	var keys []notify.SigningKey
	var errs []error
	for _, secret := range []settings.Secret{s.Notify.Key, s.Notify.PreviousKey} {
		if secret.Set() {
			key, err := notify.ParseSigningKey(secret.Reveal())
			keys, errs = append(keys, key), append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	logger.Info("notices are sent", "url", s.Notify.URL, "key", keys[0].Public())
	return notify.NewWebhook(notify.WebhookConfig{
		URL: s.Notify.URL, Application: telemetry.Process() + " fabrikam-" + b.Name, Keys: keys, CallTimeout: s.Budgets.Call, Patience: s.Budgets.Invocation / noticePatience,
		Concurrency: s.Notify.Concurrency, Breaker: notify.Breaker(s.Backends.Breaker), Now: time.Now, Log: logger,
	})
}

// deadNotice is the function of the notifications queue's dead-letter sub-queue.
// A message that asks for notices stands for nothing of its own: the notices are
// in their transaction's outbox, and Sweep asks for them again. So there is
// nothing for people to look at; what kept it from being handled has been logged
// with each delivery. Anything else that comes here goes into the quarantine.
func (a *App) deadNotice(queue string) customhandler.EventFunc {
	return func(ctx context.Context, i *customhandler.Invocation) error {
		m, err := messageOf(i, queue)
		if err != nil {
			return err
		}
		ctx = observe.About(ctx, quarantine.TransactionOf(m.Body), "")
		reason, _ := m.Properties[deadLetterReason].(string)
		description, _ := m.Properties[deadLetterDescription].(string)
		a.logger.WarnContext(ctx, "dead letter", telemetry.KeyQueue, queue, telemetry.KeyMessage, m.MessageID,
			telemetry.KeySequence, m.SequenceNumber, "reason", reason)
		if e, err := engine.Decode(m.Body); err == nil && e.Operation == "" {
			return nil
		}
		if reason == "" {
			reason = quarantine.ReasonUnknown
		}
		entry := quarantine.Entry{
			Source: quarantine.DeadLetterSource(queue), SequenceNumber: m.SequenceNumber, Reason: reason, Detail: description,
			Properties: m.Properties, TransactionID: quarantine.TransactionOf(m.Body), MessageID: m.MessageID,
		}
		entry.SetBody(m.Body)
		return a.services.quarantine.Keep(ctx, entry)
	}
}
