package main

import (
	"bufio"
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
	log          *logFile
	notice       func(string)
}

// children are the further instances of the function app, each a process of
// its own with its own handler. A child that ends is replaced.
type children struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func startChildren(n int, c childConfig) *children {
	ctx, cancel := context.WithCancel(context.Background())
	all := &children{cancel: cancel}
	for i := range n {
		name := fmt.Sprintf("instance %d", i+2)
		child := c
		child.settings = c.clocks.in(c.settings, i+2)
		all.wg.Go(func() { child.keepRunning(ctx, name) })
	}
	return all
}

func (c *children) close() {
	c.cancel()
	c.wg.Wait()
}

// restartPause keeps a child that can't start from being started all the time.
const restartPause = time.Second

func (c childConfig) keepRunning(ctx context.Context, name string) {
	for {
		err := c.runOnce(ctx, name)
		if ctx.Err() != nil {
			return
		}
		c.notice(fmt.Sprintf("%s ended: %v; a new one takes its place", name, err))
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
func (c childConfig) runOnce(ctx context.Context, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "host", "-app", c.app, "-http", "127.0.0.1:0", "-name", name,
		"-state", c.endpoints.CosmosDB, "-profile", c.profile, "-settings", c.settingsFile, "-crashes", c.crashes,
		"-faults-from", c.endpoints.Admin, "-instances", strconv.Itoa(c.instances), "-until-eof")
	cmd.Env = os.Environ()
	for k, v := range c.settings {
		cmd.Env = append(cmd.Env, k+"="+v)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		return err
	}
	c.log.logger.Info("instance started", "name", name, "pid", cmd.Process.Pid)
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

func (c childConfig) copyLines(from io.Reader) {
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
