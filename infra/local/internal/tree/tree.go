// Package tree runs a serving command and all its processes as one unit that
// can be stopped, killed, and started again. A tree dies with the process that
// started it.
package tree

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// Config says what the tree is.
type Config struct {
	// Command is the program that serves, with its arguments. It always gets
	// the same, so that a tree that is killed comes back where it was.
	Command []string
	Env     []string // on top of this process's own
	// Endpoints is the file that the program writes when it serves.
	Endpoints string
	Output    io.Writer // of the program
	// Start is how long it may take until it serves; 0 means a minute.
	Start time.Duration
	// Grace is how long it may take to end when it is asked to.
	Grace time.Duration
}

// The limits for what the tree takes.
const (
	startLimit = 60 * time.Second // until it must serve, unless told otherwise
	goneLimit  = 10 * time.Second // until a killed one must have left
	watchPause = 20 * time.Millisecond
)

// Tree is a process that serves, with all that it starts. Its methods are for one
// goroutine, but Failed, which many may wait for.
type Tree struct {
	c       Config
	current *running // nil when nothing runs
}

// running is one life of the tree.
type running struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how, once done is closed
}

// New returns a tree that does not run yet.
func New(c Config) *Tree { return &Tree{c: c} }

// Pid returns the id of the process that serves, 0 when nothing runs.
func (t *Tree) Pid() int {
	if t.current == nil {
		return 0
	}
	return t.current.cmd.Process.Pid
}

// ErrNotServing is returned for a tree that ends by itself.
var ErrNotServing = errors.New("the system has stopped by itself")

// Launch starts the process and does not wait until it serves.
func (t *Tree) Launch() error {
	if err := os.Remove(t.c.Endpoints); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("start the system: %w", err)
	}
	cmd := exec.Command(t.c.Command[0], t.c.Command[1:]...)
	cmd.Env = append(os.Environ(), t.c.Env...)
	cmd.Stdout, cmd.Stderr = t.c.Output, t.c.Output
	cmd.WaitDelay = goneLimit
	cmd.SysProcAttr = attributes()
	r := &running{cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The thread lives as long as the process: Linux kills the process when
		// the thread that started it ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			r.err = cmd.Wait()
			close(r.done)
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("start the system: %w", err)
	}
	t.current = r
	return nil
}

// Serving waits until the tree that was launched serves.
func (t *Tree) Serving(ctx context.Context) (system.Endpoints, error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.c.Start, startLimit))
	defer cancel()
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for {
		if e, ok := t.readEndpoints(); ok {
			return e, nil
		}
		select {
		case <-tick.C:
		case <-t.current.done:
			return system.Endpoints{}, fmt.Errorf("start the system: %w: %w", ErrNotServing, t.Ended())
		case <-ctx.Done():
			return system.Endpoints{}, fmt.Errorf("wait until the system serves: %w", ctx.Err())
		}
	}
}

// readEndpoints reads the file, which may be written at this moment.
func (t *Tree) readEndpoints() (system.Endpoints, bool) {
	content, err := os.ReadFile(t.c.Endpoints)
	if err != nil {
		return system.Endpoints{}, false
	}
	var e system.Endpoints
	err = json.Unmarshal(content, &e)
	return e, err == nil && e.HTTP != ""
}

// Ended tells how the process ended; call it once done is closed.
func (t *Tree) Ended() error {
	if t.current.err == nil {
		return errors.New("exit code 0")
	}
	return t.current.err
}

// Failed is closed when the process that was launched last has ended.
func (t *Tree) Failed() <-chan struct{} { return t.current.done }

// Kill ends all processes of the tree at once, as kill -9 does, and waits until
// they are gone.
func (t *Tree) Kill() error {
	r := t.current
	if r == nil {
		return nil
	}
	t.current = nil
	if err := killAll(r.cmd.Process); err != nil {
		return fmt.Errorf("kill the system: %w", err)
	}
	<-r.done
	limit := time.Now().Add(goneLimit)
	for anyLeft(r.cmd.Process) {
		if time.Now().After(limit) {
			return fmt.Errorf("kill the system: processes of group %d are left", r.cmd.Process.Pid)
		}
		time.Sleep(watchPause)
	}
	return nil
}

// Stop asks the tree to end, and kills it if it does not, or can't be asked on
// this system, with whatever it leaves behind.
func (t *Tree) Stop() error {
	r := t.current
	if r == nil {
		return nil
	}
	if err := r.cmd.Process.Signal(os.Interrupt); err == nil {
		select {
		case <-r.done:
		case <-time.After(t.c.Grace):
		}
	}
	return t.Kill()
}

// FreePorts returns addresses of this machine that nothing listens on.
func FreePorts(n int) ([]string, error) {
	addresses, release, err := HoldPorts(n)
	release()
	return addresses, err
}

// HoldPorts is FreePorts whose addresses nobody else gets until they are released.
func HoldPorts(n int) (addresses []string, release func(), err error) {
	var held []net.Listener
	release = func() {
		for _, l := range held {
			_ = l.Close() // nobody was accepted
		}
	}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, release, fmt.Errorf("find a free port: %w", err)
		}
		held, addresses = append(held, l), append(addresses, l.Addr().String())
	}
	return addresses, release, nil
}
