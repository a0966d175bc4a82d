package main

import (
	"cmp"
	"fmt"
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

// openTold opens who is told of transactions that come to rest: receiver and mailer
// stay nil where nobody is.
func (a *adapters) openTold(b business.Business, s settings.Settings, logger *slog.Logger) error {
	limits := notify.Limits{CallTimeout: s.Budgets.Call, Patience: s.Budgets.Invocation / noticePatience,
		Concurrency: s.Notify.Concurrency, Breaker: s.Backends.Breaker, Log: logger}
	if s.Notify.URL != "" {
		keys, unreadable := notify.ParseSigningKeys(s.Notify.Key.Reveal(), s.Notify.PreviousKey.Reveal())
		receiver, err := notify.NewWebhook(notify.WebhookConfig{
			URL: s.Notify.URL, Application: telemetry.Process() + " fabrikam-" + b.Name, Keys: keys, Limits: limits, Now: time.Now,
		})
		if err := cmp.Or(unreadable, err); err != nil {
			return err
		}
		a.receiver = receiver
		a.closing(receiver.Close)
		logger.Info("notices are sent", "url", s.Notify.URL, "key", keys[0].Public())
	}
	var err error
	if mail := s.Notify.Mail; mail.URL != "" {
		limits.CallTimeout = mail.Timeout
		logger.Info("mail is sent", "url", mail.URL, "from", mail.From)
		a.mailer, err = notify.NewSMTP(notify.SMTPConfig{URL: mail.URL, User: mail.User, Password: mail.Password.Reveal(), From: mail.From, Limits: limits})
		if b.Letters == nil {
			err = fmt.Errorf("SMTP_URL is set, but the business %s writes no letters: unset it", b.Name)
		}
	}
	return err
}
