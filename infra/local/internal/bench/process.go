package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/tree"
	"github.com/fabrikam/drone-delivery/infra/local/profile"
)

// Process is a server that a scenario or load has started, with its children.
type Process struct {
	*tree.Tree
	URL    string
	at     system.Endpoints
	output io.Closer
}

// Starter starts this program as other processes.
type Starter struct {
	Command []string // this program
	App     string   // the staged app, in a folder of its own: what is served is noted beside it
	Dir     string   // where state and output are kept
	// Partitions are those of the event hub that is served.
	Partitions int
	// Profiles is the folder for profiles of the runtime and the handler, which must be
	// staged for that; "" for none.
	Profiles string
}

// Serve starts the local runtime with fresh state, and waits until it serves. The
// settings are the app's; flags are further ones of serve.
func (s Starter) Serve(ctx context.Context, settings map[string]string, flags ...string) (*Process, error) {
	if err := os.RemoveAll(s.data()); err != nil {
		return nil, err
	}
	return s.Resume(ctx, settings, flags...)
}

func (s Starter) data() string { return filepath.Join(s.Dir, "data") }

// Resume is Serve with the state that an earlier one has left.
func (s Starter) Resume(ctx context.Context, settings map[string]string, flags ...string) (*Process, error) {
	args := []string{"serve", "-app", s.App, "-data", s.data(), "-http", "127.0.0.1:0", "-amqp", "127.0.0.1:0", "-cosmos", "127.0.0.1:0",
		"-partitions", strconv.Itoa(s.Partitions)}
	args = append(args, flags...)
	env := environ(settings)
	if s.Profiles != "" {
		env = append(env, profile.Variable+"="+s.Profiles)
	}
	return s.start(ctx, "serve", args, env, filepath.Join(filepath.Dir(s.App), "local", "endpoints.json"))
}

// environ are settings as the environment of a process has them.
func environ(settings map[string]string) (env []string) {
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		env = append(env, name+"="+settings[name])
	}
	return env
}

// Further starts another instance of a served app, which nobody replaces when it ends,
// and does not wait until it serves.
func (s Starter) Further(served *Process, settings map[string]string, flags ...string) (*Process, error) {
	set := maps.Clone(settings)
	maps.Copy(set, served.at.Settings())
	set["PROMETHEUS_METRICS"] = "true"
	args := []string{"host", "-app", s.App, "-http", "127.0.0.1:0", "-name", "further", "-state", served.at.CosmosDB}
	return s.launch("further", append(args, flags...), environ(set), filepath.Join(s.Dir, "further.json"))
}

// Baseline starts a server of package baseline, and waits until it serves.
func (s Starter) Baseline(ctx context.Context, kind string, flags ...string) (*Process, error) {
	endpoints := filepath.Join(s.Dir, kind+".json")
	return s.start(ctx, kind, append([]string{"baseline", "-kind", kind, "-endpoints", endpoints}, flags...), nil, endpoints)
}

// startLimit is how long a process may take until it serves: a million messages on
// disk are read first.
const startLimit = 10 * time.Minute

// stopGrace is how long a process may take to end when it is asked to.
const stopGrace = 15 * time.Second

func (s Starter) start(ctx context.Context, name string, args, env []string, endpoints string) (*Process, error) {
	p, err := s.launch(name, args, env, endpoints)
	if err != nil {
		return nil, err
	}
	at, err := p.Serving(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w; see %s.txt", name, err, filepath.Join(s.Dir, name)), p.Close())
	}
	p.URL, p.at = "http://"+at.HTTP, at
	return p, nil
}

// launch starts a process and does not wait until it serves.
func (s Starter) launch(name string, args, env []string, endpoints string) (*Process, error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(s.Dir, name+".txt"))
	if err != nil {
		return nil, err
	}
	p := &Process{output: output, Tree: tree.New(tree.Config{
		Command: append(slices.Clone(s.Command), args...), Env: env, Endpoints: endpoints, Output: output, Start: startLimit, Grace: stopGrace,
	})}
	if err := p.Launch(); err != nil {
		return nil, errors.Join(err, output.Close())
	}
	return p, nil
}

// Close ends the process with its children.
func (p *Process) Close() error { return errors.Join(p.Stop(), p.output.Close()) }

// State looks at a served app: what it has counted, and its processes with this
// one.
func (p *Process) State(ctx context.Context) load.State {
	var s load.State
	counts, err := load.Scrape(ctx, p.URL)
	s.Counts, s.Known = counts, err == nil
	for _, pid := range []int{os.Getpid(), p.Pid()} {
		processes, err := meter.Tree(pid)
		if err != nil {
			return s
		}
		for _, found := range processes {
			if known := slices.ContainsFunc(s.Processes, func(q meter.Process) bool { return q.PID == found.PID }); !known {
				s.Processes = append(s.Processes, found)
			}
		}
	}
	return s
}

// Names are what processes are called in reports.
func (p *Process) Names() map[int]string {
	return map[int]string{os.Getpid(): "this tool", p.Pid(): "runtime"}
}
