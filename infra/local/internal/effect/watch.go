package effect

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// followPause is how often the plan is read.
const followPause = 20 * time.Millisecond

// A Watch decides which effects are a handler's last. It is safe for concurrent
// use. A nil Watch lets all pass, at the cost of that one look.
type Watch struct {
	dir       string
	log       *slog.Logger
	processes processes
	patience  time.Duration // for the end of a process that was killed
	plan      atomic.Pointer[active]
	stop      context.CancelFunc
	following sync.WaitGroup
}

// Open watches by the plan in a folder, which must be there, and by each that
// replaces it. Close must be called.
func Open(dir string, log *slog.Logger) (*Watch, error) {
	w := &Watch{dir: dir, log: log, processes: system{}, patience: patience}
	first, err := readPlan(dir, nil)
	if err != nil {
		return nil, err
	}
	w.plan.Store(first)
	ctx, stop := context.WithCancel(context.Background())
	w.stop = stop
	w.following.Go(func() { w.follow(ctx) })
	return w, nil
}

// Close ends the watch; effects that are held stay so until their handler is gone.
func (w *Watch) Close() {
	if w != nil {
		w.stop()
		w.following.Wait()
	}
}

func (w *Watch) follow(ctx context.Context) {
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		next, err := readPlan(w.dir, w.plan.Load())
		if err != nil {
			w.log.Warn("the plan of crashes stays as it was", "error", err)
			continue
		}
		w.plan.Store(next)
	}
}

// InstanceID returns the id of an instance of the app, by its name.
func (w *Watch) InstanceID(name string) string { return w.plan.Load().InstanceID(name) }

// Watches reports whether the effects of the client with this user agent count at
// the moment.
func (w *Watch) Watches(agent string) bool {
	if w == nil {
		return false
	}
	now := w.plan.Load()
	_, ok := processOf(agent, now.Run)
	return ok && len(now.Points) > 0
}

// Passes counts a passing of points, which are names of one effect with the same
// ending, by the client with this user agent. If it is the last one of a handler,
// the handler's death is returned, which the caller brings about; else nil.
func (w *Watch) Passes(agent, ending string, effects ...string) *Death {
	if !w.Watches(agent) {
		return nil
	}
	now := w.plan.Load()
	pid, ok := processOf(agent, now.Run)
	if !ok {
		return nil
	}
	var death *Death
	for _, e := range effects {
		point := e + ending
		if at, armed := now.Points[point]; armed && now.passed[point].Add(1) == int64(at) && death == nil {
			death = &Death{watch: w, point: point, pid: pid}
		}
	}
	return death
}
