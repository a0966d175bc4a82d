package main

import (
	"errors"
	"log/slog"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
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
		Concurrency: s.Notify.Concurrency, Breaker: s.Backends.Breaker, Now: time.Now, Log: logger,
	})
}
