package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Mail is one letter to one person, in plain text.
type Mail struct {
	// ID is the same however often the mail is sent: a TransactionID, a slash, and
	// words with slashes between them.
	ID            string
	To            string // an address, without a name
	Subject, Text string
}

// Mailer sends mail. It is safe for concurrent use.
type Mailer interface {
	// Send sends a mail once and returns nil when the server has taken it. A
	// permanent failure says that this mail is refused for good; after any other
	// error it may have been taken all the same, and is to be sent again.
	Send(ctx context.Context, m Mail) error
}

// SMTPConfig says by which server, and how. All fields but User, Password and
// TLS are required.
type SMTPConfig struct {
	// URL is smtp://host:port, where STARTTLS is required unless the host is this
	// machine, or smtps://host:port, with TLS from the start.
	URL            string
	User, Password string // none: no sign-in
	From           string // an address, with a name or without
	TLS            *tls.Config
	// Limits has the time-out of one mail: half of it for the connection, with TLS and
	// sign-in, half for the mail.
	Limits
}

// SMTP sends mail by a server. It keeps no connection. It is safe for concurrent
// use, and its limits hold for one process.
type SMTP struct {
	c      SMTPConfig
	client *gomail.Client
	gate   *gate
	domain string // of the sender, for the Message-IDs
}

var _ Mailer = (*SMTP)(nil)

// NewSMTP returns a mailer, or an error that says what is wrong with c.
func NewSMTP(c SMTPConfig) (*SMTP, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, errors.New("smtp: no URL")
	}
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		return nil, errors.New("smtp: the URL has no port")
	}
	if !c.Limits.valid() {
		return nil, errors.New("smtp: a required field is missing")
	}
	sender := gomail.NewMsg()
	if err := sender.From(c.From); err != nil {
		return nil, fmt.Errorf("smtp: sender: %w", err)
	}
	_, domain, _ := strings.Cut(sender.GetFrom()[0].Address, "@")
	options := []gomail.Option{
		gomail.WithPort(port), gomail.WithTimeout(c.CallTimeout / 2), gomail.WithTLSPolicy(tlsPolicy(u.Hostname())), gomail.WithoutNoop(),
	}
	if c.TLS != nil {
		options = append(options, gomail.WithTLSConfig(c.TLS))
	}
	if u.Scheme == "smtps" {
		options = append(options, gomail.WithSSL())
	}
	if c.User != "" {
		options = append(options, gomail.WithSMTPAuth(gomail.SMTPAuthAutoDiscover), gomail.WithUsername(c.User), gomail.WithPassword(c.Password))
	}
	client, err := gomail.NewClient(u.Hostname(), options...)
	if err != nil {
		return nil, fmt.Errorf("smtp: %w", err)
	}
	return &SMTP{c: c, client: client, gate: newGate("the mail server", c.Limits), domain: domain}, nil
}

// tlsPolicy keeps mail and passwords from being read on the way: STARTTLS or nothing,
// but to this machine.
func tlsPolicy(host string) gomail.TLSPolicy {
	if auth.Loopback(host) {
		return gomail.TLSOpportunistic
	}
	return gomail.TLSMandatory
}

// Send makes one connection when it is its turn.
func (s *SMTP) Send(ctx context.Context, m Mail) error {
	message, err := s.message(m)
	if err != nil {
		return failure.New(failure.Permanent, "send mail", m.ID, err)
	}
	leave, wait, err := s.gate.enter(ctx)
	if err != nil {
		return &failure.Error{Kind: failure.Transient, Op: "send mail", ID: m.ID, RetryAfter: wait, Err: err}
	}
	err = s.client.DialAndSendWithContext(ctx, message)
	if message.IsDelivered() { // whatever became of the connection
		err = nil
	}
	reply, kind, err := judge(err)
	// The gate reads a reply's first digit as it reads that of a status: a server
	// that refuses an address is well.
	if err == nil || kind == failure.Permanent {
		reply = 250
	}
	leave(ctx, answer{status: reply})
	if err != nil {
		return failure.New(kind, "send mail", m.ID, err)
	}
	return nil
}

// message makes the message of RFC 5322. The library encodes what its headers get, so
// that no text ends a header.
func (s *SMTP) message(m Mail) (*gomail.Msg, error) {
	out := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	if err := out.From(s.c.From); err != nil {
		return nil, err
	}
	if !business.MailAddress(m.To) || out.To(m.To) != nil { // that error has the address
		return nil, errors.New("what was given as an address is none")
	}
	out.SetMessageIDWithValue(messageID(m.ID) + "@" + s.domain)
	out.SetDate()
	out.SetGenHeader("Auto-Submitted", "auto-generated") // RFC 3834: nobody's machine answers
	out.Subject(m.Subject)
	out.SetBodyString(gomail.TypeTextPlain, m.Text)
	return out, nil
}

// judge returns the server's reply to a failed mail, 0 if there was none, what can be done, and an
// error without the address, which the library's and the server's texts have.
//
// A mail is refused for good if the server answered 5xx to its recipient or its content.
// But a 5xx to anything else, and one for policy (5.7.x of RFC 3463, such as a relay
// that is denied), may be for what an operator has set: no mail is to be lost for that.
func judge(err error) (reply int, kind failure.Kind, told error) {
	var answered *gomail.SendError
	if !errors.As(err, &answered) {
		return 0, failure.Transient, err
	}
	reply = answered.ErrorCode()
	told = fmt.Errorf("%s: answered %d %s", answered.Reason, reply, answered.EnhancedStatusCode())
	if reply >= 500 && !strings.HasPrefix(answered.EnhancedStatusCode(), "5.7.") {
		switch answered.Reason {
		case gomail.ErrSMTPRcptTo, gomail.ErrSMTPData, gomail.ErrSMTPDataClose:
			return reply, failure.Permanent, told
		}
	}
	return reply, failure.Transient, told
}
