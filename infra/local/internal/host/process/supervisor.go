// Package process runs the custom handler: it starts it, waits until it
// answers, restarts it by the host's rules and kills it at the end.
//
// Sources: Microsoft Learn, "Azure Functions custom handlers" (application
// structure, environment); behaviour of azure-functions-host 4.x: GET / every
// 25 ms until initializationTimeout, exit code 0 is never restarted, 200 is an
// intentional restart, the third other exit within 30 minutes of each other
// stops the host, stop is SIGKILL without a warning.
//
// Deviation: the handler has its own process group, so that Ctrl-C in a
// terminal reaches only the host, and the handler's children are killed with
// it.
package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// ErrExceededRestarts is the end of a host whose handler has crashed three
// times, as azure-functions-host stops itself then.
var ErrExceededRestarts = errors.New("exceeded the handler's restart count")

// ErrStopped is returned to those who wait for a handler that won't come back.
var ErrStopped = errors.New("the handler has been stopped")

const (
	maxCrashes     = 3
	crashWindow    = 30 * time.Minute
	readinessPoll  = 25 * time.Millisecond
	exitNoRestart  = 0
	exitRestart    = 200
	killWait       = time.Second // for the handler's console after its end
	initialTimeout = 30 * time.Second
)

// Options say what to run.
type Options struct {
	Path string   // absolute, or a name to be looked up on PATH
	Args []string // without the program
	Dir  string   // working directory
	Env  []string // complete, NAME=value
	URL  string   // http://127.0.0.1:port, where the handler must answer

	// InitializationTimeout is how long the handler may take to open its port;
	// 30 s if zero.
	InitializationTimeout time.Duration
	// Client asks for readiness; its Timeout bounds one ping.
	Client *http.Client
	// Line is given each console line, from two goroutines at once.
	Line   func(line string, stderr bool)
	Logger *slog.Logger
	Now    func() time.Time
}

// A Supervisor owns the handler process. Its methods are safe for concurrent
// use.
type Supervisor struct {
	opts Options

	mu      sync.Mutex
	current *child        // nil between two processes
	ready   bool          // current answers, or has ended with exit code 0
	changed chan struct{} // closed and replaced at every change of state
	stopped bool
	crashes int
	last    time.Time // of the last crash
}

// New prepares a Supervisor; Run starts the handler.
func New(o Options) *Supervisor {
	if o.InitializationTimeout == 0 {
		o.InitializationTimeout = initialTimeout
	}
	return &Supervisor{opts: o, changed: make(chan struct{})}
}

// Run keeps the handler running until ctx ends, then kills it, waits for it
// and returns nil. It returns an error that wraps ErrExceededRestarts after
// the third crash.
func (s *Supervisor) Run(ctx context.Context) error {
	defer s.update(func() { s.stopped, s.current, s.ready = true, nil, false })
	for {
		exit := s.runOnce(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := s.judge(exit); err != nil {
			return err
		}
		if exit.code == exitNoRestart && exit.err == nil && !exit.killed {
			<-ctx.Done()
			return nil
		}
	}
}

// judge applies the restart policy to an exit and logs it.
func (s *Supervisor) judge(exit exit) error {
	log := s.opts.Logger
	switch {
	case exit.killed:
		log.Warn("the handler was killed by the host and starts again", "pid", exit.pid)
		return nil
	case exit.err == nil && exit.code == exitNoRestart:
		log.Error("the handler exited with code 0, which the host never restarts: every invocation fails from now on; exit with 1 after a failure, with 200 to be restarted", "pid", exit.pid)
		return nil
	case exit.err == nil && exit.code == exitRestart:
		log.Info("the handler asked for a restart (exit code 200)", "pid", exit.pid)
		return nil
	}
	now := s.opts.Now()
	if now.Sub(s.last) > crashWindow {
		s.crashes = 0
	}
	s.crashes, s.last = s.crashes+1, now
	log.Error("the handler crashed", "crash", s.crashes, "of", maxCrashes, "reason", exit.describe())
	if s.crashes >= maxCrashes {
		return fmt.Errorf("%w: %d crashes, the last one: %s", ErrExceededRestarts, s.crashes, exit.describe())
	}
	return nil
}

// runOnce runs one process to its end.
func (s *Supervisor) runOnce(ctx context.Context) exit {
	c, err := startChild(s.opts)
	if err != nil {
		return exit{err: fmt.Errorf("start the handler %s: %w", s.opts.Path, err)}
	}
	s.opts.Logger.Info("handler started", "pid", c.pid, "path", s.opts.Path)
	s.update(func() { s.current = c })

	initialized := make(chan error, 1)
	pingCtx, cancel := context.WithCancel(ctx)
	go func() { initialized <- s.awaitReady(pingCtx) }()
	var failure error
	pending := initialized
	for running := true; running; {
		select {
		case err := <-pending:
			pending = nil
			if err == nil {
				s.update(func() { s.ready = s.current == c })
			} else if ctx.Err() == nil {
				failure = err
				c.kill(s.opts.Logger)
			}
		case <-ctx.Done():
			c.kill(s.opts.Logger)
			<-c.done
			running = false
		case <-c.done:
			running = false
		}
	}
	cancel()
	if pending != nil {
		<-pending
	}
	s.opts.Client.CloseIdleConnections()
	e := c.exit
	if failure != nil {
		e.err, e.killed = failure, false
	}
	if e.err != nil || e.code != exitNoRestart || e.killed {
		s.update(func() { s.current, s.ready = nil, false })
		return e
	}
	// Exit code 0: the host goes on as if the process were there, and finds a
	// closed port.
	s.update(func() { s.current, s.ready = nil, true })
	return e
}

// awaitReady asks until the handler answers anything at all. Only a refused
// connection means "not yet"; any other failure counts as ready, as in the
// real host.
func (s *Supervisor) awaitReady(ctx context.Context) error {
	deadline := time.NewTimer(s.opts.InitializationTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(readinessPoll)
	defer tick.Stop()
	for {
		if s.ping(ctx) {
			return ctx.Err()
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("the handler did not open %s within initializationTimeout (%s): listen on 127.0.0.1 and the port in FUNCTIONS_CUSTOMHANDLER_PORT", s.opts.URL, s.opts.InitializationTimeout)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (s *Supervisor) ping(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.opts.URL+"/", nil)
	if err != nil {
		return false
	}
	resp, err := s.opts.Client.Do(req)
	if err != nil {
		return !isSocketError(err) && ctx.Err() == nil
	}
	return resp.Body.Close() == nil
}

// WaitReady waits until the handler can be called, for at most limit.
func (s *Supervisor) WaitReady(ctx context.Context, limit time.Duration) error {
	var timeout <-chan time.Time
	for {
		s.mu.Lock()
		ready, stopped, changed := s.ready, s.stopped, s.changed
		s.mu.Unlock()
		if stopped {
			return ErrStopped
		}
		if ready {
			return nil
		}
		if timeout == nil {
			t := time.NewTimer(limit)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-timeout:
			return fmt.Errorf("the handler was not ready within %s", limit)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// PID is the handler's process id, 0 between two processes.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.pid
}

// Restart kills the process with this id, which then starts again and isn't
// counted as crashed. Another id is ignored: someone has restarted already.
func (s *Supervisor) Restart(pid int) {
	s.mu.Lock()
	c := s.current
	if c == nil || c.pid != pid {
		s.mu.Unlock()
		return
	}
	s.ready = false
	s.mu.Unlock()
	c.byHost.Store(true)
	c.kill(s.opts.Logger)
	<-c.done
}

// Kill kills the process without a warning, as something outside of the host
// would: its exit counts as a crash. It returns false between two processes.
func (s *Supervisor) Kill() bool {
	s.mu.Lock()
	c := s.current
	s.mu.Unlock()
	if c == nil {
		return false
	}
	c.kill(s.opts.Logger)
	<-c.done
	return true
}

// Freeze stops the process until ctx ends or the process is killed, and lets it
// go on then. It returns false between two processes, and an error that wraps
// errors.ErrUnsupported on a system that can't stop processes.
func (s *Supervisor) Freeze(ctx context.Context) (bool, error) {
	s.mu.Lock()
	c := s.current
	s.mu.Unlock()
	if c == nil {
		return false, nil
	}
	if err := suspend(c.cmd); err != nil {
		return false, fmt.Errorf("freeze the handler: %w", err)
	}
	select {
	case <-ctx.Done():
		if err := resume(c.cmd); err != nil {
			return true, fmt.Errorf("let the handler go on: %w", err)
		}
	case <-c.done:
	}
	return true, nil
}

// update changes the state and wakes those who wait for it.
func (s *Supervisor) update(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.changed)
	s.changed = make(chan struct{})
}
