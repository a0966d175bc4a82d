package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/profile"
)

// profiled are the processes of an app that write profiles. A nil one writes none.
type profiled struct {
	dir  string
	pids []int // of the runtime and the handler
}

// profiled returns the processes to profile, nil if nobody asked for profiles.
func (b *bench) profiled(app *Process) (*profiled, error) {
	if b.Profiles == "" {
		return nil, nil
	}
	handler, _, err := handlerOf(app.Pid())
	return &profiled{dir: b.Profiles, pids: []int{app.Pid(), handler}}, err
}

func (p *profiled) begin() error { return p.tell(profile.Begin) }

// profileLimit is how long a process may take to write its profiles.
const profileLimit = 30 * time.Second

// end waits until the profiles are written.
func (p *profiled) end(ctx context.Context) error {
	if p == nil {
		return nil
	}
	before, err := p.written()
	if err = errors.Join(err, p.tell(profile.End)); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, profileLimit, fmt.Errorf("the profiles are not in %s after %v", p.dir, profileLimit))
	defer cancel()
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		now, err := p.written()
		if err != nil || now == before+len(p.pids) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// written counts the profiles of CPU time, which are the last to be written.
func (p *profiled) written() (int, error) {
	found, err := filepath.Glob(filepath.Join(p.dir, "*.cpu.pprof"))
	return len(found), err
}

func (p *profiled) tell(what os.Signal) error {
	if p == nil {
		return nil
	}
	var errs []error
	for _, pid := range p.pids {
		process, err := os.FindProcess(pid)
		if err == nil {
			err = process.Signal(what)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
