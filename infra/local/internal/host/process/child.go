package process

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
)

// An exit is how a process ended.
type exit struct {
	pid    int
	code   int      // -1 after a signal
	err    error    // it could not be started or did not become ready
	state  string   // as the system describes it
	tail   []string // the last lines of its stderr
	killed bool     // by Restart
}

func (e exit) describe() string {
	text := e.state
	if e.err != nil {
		text = e.err.Error()
	}
	if len(e.tail) > 0 {
		text = fmt.Sprintf("%s; its last stderr lines: %s", text, strings.Join(e.tail, " | "))
	}
	return text
}

// A child is one running process.
type child struct {
	pid    int
	cmd    *exec.Cmd
	byHost atomic.Bool
	done   chan struct{} // closed when exit is set
	exit   exit
}

// startChild starts the process on a goroutine whose thread lives until the
// process has ended: on Linux the kernel kills the child when the thread that
// started it ends, and Go may end threads at any time.
func startChild(o Options) (*child, error) {
	stdout, stderr := newLines(o.Line, false), newLines(o.Line, true)
	cmd := exec.Command(o.Path, o.Args...)
	cmd.Dir, cmd.Env = o.Dir, o.Env
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = killWait
	cmd.SysProcAttr = attributes()
	c := &child{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		release, err := startGuarded(cmd)
		if err == nil {
			c.pid = cmd.Process.Pid
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		release()
		stdout.flush()
		stderr.flush()
		c.finish(err, stderr.tail())
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) finish(err error, tail []string) {
	state := c.cmd.ProcessState
	c.exit = exit{pid: c.pid, code: state.ExitCode(), state: state.String(), tail: tail, killed: c.byHost.Load()}
	var status *exec.ExitError
	if err != nil && !errors.As(err, &status) && !errors.Is(err, exec.ErrWaitDelay) {
		c.exit.err = err
	}
	close(c.done)
}

// kill ends the process and what it started, without a warning.
func (c *child) kill(log *slog.Logger) {
	if err := killTree(c.cmd); err != nil {
		log.Error("the handler could not be killed", "pid", c.pid, "error", err)
	}
}

// isSocketError tells a port that isn't open yet from every other failure.
func isSocketError(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, syscall.ECONNREFUSED)
}
