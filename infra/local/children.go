package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// child is a process of this program that serve runs beside itself, and replaces
// when it ends.
type child struct {
	name   string
	args   []string
	env    []string // on top of this process's own
	log    *logFile
	notice func(string)
	ended  func(error) // is told how each process has ended; nil is not
}

// childConfig says what the further instances run.
type childConfig struct {
	app       string
	endpoints system.Endpoints
	// settings win over the environment and the local settings file, which is
	// settingsFile; "" is the staged one.
	settings     map[string]string
	settingsFile string
	profile      string
	crashes      string // the folder of the plan of crashes, "" for none
	instances    int    // that share the acts of the plan of faults, with those that are no children
	clocks       clocks
	second       string // address of the first of them; "" is a free one, as the others have
	log          *logFile
	notice       func(string)
}

// further returns n further instances of the function app, each a process of its own
// with its own handler.
func (c childConfig) further(n int) []child {
	var all []child
	for i := range n {
		name, at := fmt.Sprintf("instance %d", i+2), "127.0.0.1:0"
		if i == 0 {
			at = cmp.Or(c.second, at)
		}
		one := child{
			name: name, log: c.log, notice: c.notice,
			args: []string{"host", "-app", c.app, "-http", at, "-name", name,
				"-state", c.endpoints.CosmosDB, "-profile", c.profile, "-settings", c.settingsFile, "-crashes", c.crashes,
				"-faults-from", c.endpoints.Admin, "-instances", strconv.Itoa(c.instances), "-until-eof"},
		}
		for k, v := range c.clocks.in(c.settings, i+2) {
			one.env = append(one.env, k+"="+v)
		}
		all = append(all, one)
	}
	return all
}

// children are the processes beside this one.
type children struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startChildren(all []child) *children {
	ctx, cancel := context.WithCancel(context.Background())
	c := &children{cancel: cancel}
	for _, one := range all {
		c.wg.Go(func() { one.keepRunning(ctx) })
	}
	return c
}

func (c *children) close() {
	c.cancel()
	c.wg.Wait()
}

// restartPause keeps a child that can't start from being started all the time.
const restartPause = time.Second

func (c child) keepRunning(ctx context.Context) {
	for {
		err := c.runOnce(ctx)
		if c.ended != nil {
			c.ended(err)
		}
		if ctx.Err() != nil {
			return
		}
		c.notice(fmt.Sprintf("%s ended: %v; a new one takes its place", c.name, err))
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return
		}
	}
}

// runOnce runs one child until it ends. It ends in an orderly way when it is
// told to over its standard input, and at once when that ends without a word:
// this process has been killed then.
func (c child) runOnce(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, c.args...)
	cmd.Env = append(os.Environ(), c.env...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return err
	}
	c.log.logger.Info("instance started", "name", c.name, "pid", cmd.Process.Pid)
	var copying sync.WaitGroup
	copying.Go(func() { c.copyLines(read) })
	stop := context.AfterFunc(ctx, func() {
		// A child that has just ended reads neither.
		_, _ = io.WriteString(stdin, stopWord)
		stdin.Close()
	})
	defer stop()
	err = cmd.Wait()
	write.Close() // never fails
	copying.Wait()
	return err
}

func (c child) copyLines(from io.Reader) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		c.log.handlerLine(lines.Text(), false)
	}
	// A longer line ends the scan; the rest is read so that the child goes on.
	if _, err := io.Copy(io.Discard, from); err != nil {
		c.log.logger.Error("read the log of an instance", "error", err)
	}
}
