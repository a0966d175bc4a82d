package chaos

import (
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

// treeConfig says what the tree is.
type treeConfig struct {
	// Command is the program that serves, with its arguments. It always gets
	// the same, so that a tree that is killed comes back where it was.
	Command []string
	Env     []string // on top of this process's own
	// Endpoints is the file that the program writes when it serves.
	Endpoints string
	Output    io.Writer // of the program
	// Grace is how long it may take to end when it is asked to.
	Grace time.Duration
}

// The limits for what the tree takes.
const (
	startLimit = 60 * time.Second // until it must serve
	goneLimit  = 10 * time.Second // until a killed one must have left
	watchPause = 20 * time.Millisecond
)

// tree is the system under test: a process that serves, with all that it
// starts. It dies with this process. Its methods are for one goroutine.
type tree struct {
	c       treeConfig
	current *running // nil when nothing runs
}

// running is one life of the tree.
type running struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the process has ended
	err  error         // how, once done is closed
}

func newTree(c treeConfig) *tree { return &tree{c: c} }

// errNotServing is returned for a tree that ends by itself.
var errNotServing = errors.New("the system has stopped by itself")

// launch starts the process and does not wait until it serves.
func (t *tree) launch() error {
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

// serving waits until the tree that was launched serves.
func (t *tree) serving(ctx context.Context) (system.Endpoints, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
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
			return system.Endpoints{}, fmt.Errorf("start the system: %w: %w", errNotServing, t.ended())
		case <-ctx.Done():
			return system.Endpoints{}, fmt.Errorf("wait until the system serves: %w", ctx.Err())
		}
	}
}

// readEndpoints reads the file, which may be written at this moment.
func (t *tree) readEndpoints() (system.Endpoints, bool) {
	content, err := os.ReadFile(t.c.Endpoints)
	if err != nil {
		return system.Endpoints{}, false
	}
	var e system.Endpoints
	err = json.Unmarshal(content, &e)
	return e, err == nil && e.HTTP != ""
}

// ended tells how the process ended; call it once done is closed.
func (t *tree) ended() error {
	if t.current.err == nil {
		return errors.New("exit code 0")
	}
	return t.current.err
}

// failed is closed when the process that was launched last has ended.
func (t *tree) failed() <-chan struct{} { return t.current.done }

// kill ends all processes of the tree at once, as kill -9 does, and waits until
// they are gone.
func (t *tree) kill() error {
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

// stop asks the tree to end, and kills it if it does not, or can't be asked on
// this system, with whatever it leaves behind.
func (t *tree) stop() error {
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
	return t.kill()
}

// freePorts returns addresses of this machine that nothing listens on.
func freePorts(n int) ([]string, error) {
	addresses := make([]string, n)
	for i := range addresses {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close()
		addresses[i] = l.Addr().String()
	}
	return addresses, nil
}
