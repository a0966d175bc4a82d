package notify

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	netmail "net/mail"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	gomail "github.com/wneessen/go-mail"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/notify/mailtest"
)

func open(t *testing.T, c SMTPConfig) *SMTP {
	t.Helper()
	c.From = "Fabrikam <noreply@fabrikam.example>"
	c.Limits = Limits{CallTimeout: 10 * time.Second, Patience: time.Second, Concurrency: 4,
		Breaker: failure.Breaker{FailureRatio: 0.5, MinCalls: 100, Window: time.Minute, Delay: time.Minute, Probes: 3}, Log: slog.New(slog.DiscardHandler)}
	s, err := NewSMTP(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var letter = Mail{ID: "t.1/arrived/1", To: "ada@example.com", Subject: "Package p-1 has arrived", Text: "It is here.\n\nFabrikam\n"}

// Ensure a mail arrives as it was written, with an id that is the same for a repeat, and
// that no automatic answer is asked for.
func TestMailArrives(t *testing.T) {
	p := mailtest.Start(t, &mailtest.Server{})
	s := open(t, SMTPConfig{URL: "smtp://" + p.Addr})
	for range 2 {
		if err := s.Send(t.Context(), letter); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range p.Taken() {
		if m.From != "noreply@fabrikam.example" || !slices.Equal(m.To, []string{"ada@example.com"}) {
			t.Errorf("envelope %+v", m)
		}
		header, body := read(t, m)
		for name, want := range map[string]string{
			"Message-Id": "<t~1/arrived/1@fabrikam.example>", "Subject": letter.Subject, "To": "<ada@example.com>",
			"From": `"Fabrikam" <noreply@fabrikam.example>`, "Auto-Submitted": "auto-generated", "User-Agent": "", "X-Mailer": "",
		} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if _, err := header.Date(); err != nil || strings.ReplaceAll(body, "\r\n", "\n") != letter.Text {
			t.Errorf("date %v, body %q", err, body)
		}
	}
	if n := len(p.Taken()); n != 2 {
		t.Errorf("%d mails", n)
	}
}

func read(t *testing.T, m mailtest.Mail) (netmail.Header, string) {
	t.Helper()
	got, err := netmail.ReadMessage(strings.NewReader(m.Raw))
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got.Header, string(body)
}

// Ensure nothing that clients gave makes a header, a recipient or a command of its own.
func TestNothingIsInjected(t *testing.T) {
	p := mailtest.Start(t, &mailtest.Server{})
	s := open(t, SMTPConfig{URL: "smtp://" + p.Addr})
	for _, end := range []string{"\r\n", "\n", "\r", "\r\n.\r\n", "\u2028", "\x00"} {
		hostile := "x" + end + "Bcc: eve@example.com" + end + end + "<script>" + end + "RCPT TO:<eve@example.com>"
		if err := s.Send(t.Context(), Mail{ID: "t/arrived/1", To: "ada@example.com", Subject: hostile, Text: hostile}); err != nil {
			t.Errorf("%q: %v", end, err)
		}
		for _, to := range []string{
			"ada@example.com" + end + "Bcc: eve@example.com", "ada@example.com>" + end + "RCPT TO:<eve@example.com", "\"a" + end + "b\"@example.com",
		} {
			if err := s.Send(t.Context(), Mail{ID: "t/arrived/1", To: to, Subject: "s", Text: "t"}); !failure.Is(err, failure.Permanent) {
				t.Errorf("to %q: %v", to, err)
			} else if strings.Contains(err.Error(), "example.com") {
				t.Errorf("the address is in %v", err)
			}
		}
	}
	for _, to := range []string{"", "ada", "ada@example.com, eve@example.com", "group: ada@example.com, eve@example.com;", "@", "ada@"} {
		if err := s.Send(t.Context(), Mail{ID: "t/arrived/1", To: to, Subject: "s", Text: "t"}); !failure.Is(err, failure.Permanent) {
			t.Errorf("to %q: %v", to, err)
		}
	}
	for _, m := range p.Taken() {
		header, _ := read(t, m)
		if !slices.Equal(m.To, []string{"ada@example.com"}) || header.Get("Bcc") != "" || len(header["Subject"]) != 1 || len(header["To"]) != 1 {
			t.Errorf("mail to %q: %q", m.To, m.Raw)
		}
		if got := header.Get("Content-Type"); got != "text/plain; charset=UTF-8" {
			t.Errorf("content type %q", got)
		}
	}
	if n := len(p.Taken()); n != 6 {
		t.Errorf("%d mails were taken, want 6", n)
	}
}

// Ensure what the server answers is judged once: a refused recipient or content is for
// good, anything that an operator may have caused is not, and no address gets out.
func TestAnswers(t *testing.T) {
	reply := func(code int, enhanced smtp.EnhancedCode) error {
		return &smtp.SMTPError{Code: code, EnhancedCode: enhanced, Message: "says no to ada@example.com"}
	}
	for name, c := range map[string]struct {
		server *mailtest.Server
		want   failure.Kind
	}{
		"no such person":       {&mailtest.Server{To: reply(550, smtp.EnhancedCode{5, 1, 1})}, failure.Permanent},
		"without a reason":     {&mailtest.Server{To: reply(550, smtp.NoEnhancedCode)}, failure.Permanent},
		"content refused":      {&mailtest.Server{Data: reply(554, smtp.EnhancedCode{5, 6, 0})}, failure.Permanent},
		"relay denied":         {&mailtest.Server{To: reply(554, smtp.EnhancedCode{5, 7, 1})}, failure.Transient},
		"sender refused":       {&mailtest.Server{From: reply(550, smtp.EnhancedCode{5, 1, 8})}, failure.Transient},
		"full mailbox":         {&mailtest.Server{To: reply(452, smtp.EnhancedCode{4, 2, 2})}, failure.Transient},
		"greylisted":           {&mailtest.Server{Data: reply(451, smtp.EnhancedCode{4, 7, 1})}, failure.Transient},
		"sign-in is wanted":    {&mailtest.Server{Password: "other"}, failure.Transient},
		"not now, at the data": {&mailtest.Server{Data: reply(421, smtp.EnhancedCode{4, 3, 2})}, failure.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			p := mailtest.Start(t, c.server)
			err := open(t, SMTPConfig{URL: "smtp://" + p.Addr}).Send(t.Context(), letter)
			if err == nil || failure.KindOf(err) != c.want {
				t.Errorf("error %v, %v; want %v", err, failure.KindOf(err), c.want)
			}
			if err != nil && strings.Contains(err.Error(), "ada") {
				t.Errorf("the address is in %v", err)
			}
		})
	}
}

// Ensure a refused address opens no circuit, and a server that is away does, and is
// found again.
func TestServerAwayAndBack(t *testing.T) {
	p := mailtest.Start(t, &mailtest.Server{To: &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}}})
	s := open(t, SMTPConfig{URL: "smtp://" + p.Addr})
	s.gate.breaker = failure.Breaker{FailureRatio: 0.5, MinCalls: 2, Window: time.Minute, Delay: 50 * time.Millisecond, Probes: 1}.Build(nil)
	for range 5 {
		if err := s.Send(t.Context(), letter); !failure.Is(err, failure.Permanent) {
			t.Fatal(err)
		}
	}
	p.Stop()
	s.gate.patience = time.Millisecond
	turned := false
	for range 8 {
		err := s.Send(t.Context(), letter)
		if !failure.Is(err, failure.Transient) {
			t.Fatalf("server away: %v", err)
		}
		turned = turned || errors.Is(err, errNotSent)
	}
	if !turned {
		t.Error("the server that is away is called each time")
	}
	mailtest.Start(t, &mailtest.Server{Addr: p.Addr})
	s.gate.patience = 10 * time.Second
	if err := s.Send(t.Context(), letter); err != nil {
		t.Errorf("server back: %v", err)
	}
}

// Ensure mail and password go through TLS, by STARTTLS or from the start, to a server
// that shows its name.
func TestTLSAndSignIn(t *testing.T) {
	https := httptest.NewTLSServer(nil)
	defer https.Close()
	roots := x509.NewCertPool()
	roots.AddCert(https.Certificate())
	security := &tls.Config{Certificates: https.TLS.Certificates}
	known, unknown := &tls.Config{RootCAs: roots, ServerName: "example.com"}, &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "example.com"}
	for _, fromStart := range []bool{false, true} {
		t.Run(fmt.Sprintf("from the start %t", fromStart), func(t *testing.T) {
			p := mailtest.Start(t, &mailtest.Server{Password: "secret", TLS: security, FromStart: fromStart})
			scheme := map[bool]string{false: "smtp://", true: "smtps://"}[fromStart]
			if err := open(t, SMTPConfig{URL: scheme + p.Addr, User: "postmaster", Password: "secret", TLS: known}).Send(t.Context(), letter); err != nil {
				t.Fatal(err)
			}
			if err := open(t, SMTPConfig{URL: scheme + p.Addr, User: "postmaster", Password: "other", TLS: known}).Send(t.Context(), letter); !failure.Is(err, failure.Transient) {
				t.Errorf("another password: %v", err)
			}
			if err := open(t, SMTPConfig{URL: scheme + p.Addr, User: "postmaster", Password: "secret", TLS: unknown}).Send(t.Context(), letter); !failure.Is(err, failure.Transient) {
				t.Errorf("an unknown authority: %v", err)
			}
			if all := p.Taken(); len(all) != 1 || !all[0].TLS {
				t.Errorf("taken: %+v", all)
			}
		})
	}
	for host, want := range map[string]gomail.TLSPolicy{"localhost": gomail.TLSOpportunistic, "::1": gomail.TLSOpportunistic, "mail.example.com": gomail.TLSMandatory, "10.0.0.1": gomail.TLSMandatory} {
		if got := tlsPolicy(host); got != want {
			t.Errorf("%s: %v, want %v", host, got, want)
		}
	}
}

func TestSMTPConfig(t *testing.T) {
	limits := open(t, SMTPConfig{URL: "smtp://localhost:25"}).c.Limits
	for name, c := range map[string]SMTPConfig{
		"no URL":         {From: "a@example.com", Limits: limits},
		"no port":        {URL: "smtp://example.com", From: "a@example.com", Limits: limits},
		"another scheme": {URL: "https://example.com:25", From: "a@example.com", Limits: limits},
		"no sender":      {URL: "smtp://example.com:25", Limits: limits},
		"no limits":      {URL: "smtp://example.com:25", From: "a@example.com"},
	} {
		if _, err := NewSMTP(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
