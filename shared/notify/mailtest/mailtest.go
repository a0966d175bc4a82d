// Package mailtest has a mail server for tests: real SMTP, on a free port.
package mailtest

import (
	"cmp"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// Server takes mail, unless its fields say otherwise. They are set before it starts, and
// only Answer may be more than a value: it is called by many at once.
type Server struct {
	// Addr is where it listens; a free port of this machine if it is "", which is then
	// here.
	Addr string
	// From, To and Data answer to MAIL, RCPT and what follows DATA; nil takes it.
	From, To, Data error
	// Answer answers to RCPT in the place of To.
	Answer func(to string) error
	// Password is that of the user postmaster; "": nobody has to sign in.
	Password string
	// TLS is offered by STARTTLS, or used FromStart.
	TLS       *tls.Config
	FromStart bool

	mu       sync.Mutex
	mail     []Mail
	listener net.Listener
	server   *smtp.Server
	done     chan struct{}
}

// Mail is a mail that the server took.
type Mail struct {
	From string
	To   []string
	Raw  string // header and body
	TLS  bool
}

// Start starts a server, which the end of the test stops.
func Start(t testing.TB, s *Server) *Server {
	t.Helper()
	l, err := net.Listen("tcp", cmp.Or(s.Addr, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	s.Addr, s.done = l.Addr().String(), make(chan struct{})
	s.server = smtp.NewServer(s)
	s.server.Domain, s.server.AllowInsecureAuth, s.server.ErrorLog = "mail.example.com", true, quiet{}
	if s.FromStart {
		l = tls.NewListener(l, s.TLS)
	} else {
		s.server.TLSConfig = s.TLS
	}
	s.listener = l
	go func() {
		defer close(s.done)
		_ = s.server.Serve(s.listener) // it ends with Stop
	}()
	t.Cleanup(s.Stop)
	return s
}

// Stop stops the server, with its connections. Start with the same Addr is its return.
func (s *Server) Stop() {
	_ = s.listener.Close() // the server may not know it yet; a second Stop has nothing to close
	_ = s.server.Close()
	<-s.done
}

// Taken returns the mail that was taken, in its order.
func (s *Server) Taken() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.mail)
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// NewSession is called by the library.
func (s *Server) NewSession(c *smtp.Conn) (smtp.Session, error) {
	_, encrypted := c.TLSConnectionState()
	return &session{server: s, mail: Mail{TLS: encrypted}}, nil
}

type session struct {
	server *Server
	mail   Mail
	signed bool
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if s.signed = user == "postmaster" && password == s.server.Password; !s.signed {
			return smtp.ErrAuthFailed
		}
		return nil
	}), nil
}

func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	if s.server.Password != "" && !s.signed {
		return smtp.ErrAuthRequired
	}
	s.mail.From = from
	return s.server.From
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mail.To = append(s.mail.To, to)
	if s.server.Answer != nil {
		return s.server.Answer(to)
	}
	return s.server.To
}

func (s *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil || s.server.Data != nil {
		return cmp.Or(s.server.Data, err)
	}
	s.mail.Raw = string(raw)
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	s.server.mail = append(s.server.mail, s.mail)
	return nil
}

func (s *session) Reset()        { s.mail = Mail{TLS: s.mail.TLS} }
func (s *session) Logout() error { return nil }
