package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

const (
	// keptMemory is how much memory the runtime may need for what one transaction
	// leaves on disk, in bytes: an event and some six documents of 0.5 to 0.75 KB each
	// (ADR 8), and as much again that the garbage collector has not taken yet.
	keptMemory = 8 << 10
	// unsteady is by how much memory may differ besides: by a tenth, or so many bytes.
	unsteady = 8 << 20
)

// soak runs for long below what can be completed, to see whether memory grows.
func (b *bench) soak(ctx context.Context) (o *Outcome, err error) {
	app, err := b.serveWhole(ctx)
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	s := b.stream(app)
	defer s.client.Close()
	c, err := b.probe(ctx, app, s)
	if err != nil {
		return nil, err
	}
	handler, _, err := handlerOf(app.Pid())
	if err != nil {
		return nil, err
	}
	o = &Outcome{}
	r := s.offer(ctx, o, "soak", soakPart*c.complete, b.Soak)
	o.Checks = append(o.Checks, allAccepted("refused or failed", r),
		steady("handler", r.Points, handler, 0), steady("runtime", r.Points, app.Pid(), keptMemory))
	return o, b.settled(ctx, app, s, o, r)
}

// steady judges whether a process had as much memory in the last quarter of a load as
// in the second one, but for so many bytes for each transaction that was accepted
// since then. It compares the medians: a single second tells more of garbage, and of
// what the kernel has just taken back.
func steady(who string, points []load.Point, pid int, perTransaction int64) Check {
	half, last := len(points)/2, len(points)-len(points)/4
	before, after := median(points[len(points)/4:half], pid), median(points[last:], pid)
	c := Check{What: "memory of the " + who + " in the last quarter", Got: "not measured"}
	if before == 0 || after == 0 {
		return c
	}
	accepted := 0
	for _, p := range points[half:] {
		accepted += p.Accepted
	}
	limit := before + max(before/10, unsteady) + perTransaction*int64(accepted)
	c.Want = fmt.Sprintf("<= %s MB, after %s MB in the second", megabytes(limit), megabytes(before))
	c.Got = fmt.Sprintf("%s MB, %+d B for each of %d accepted since then", megabytes(after), (after-before)/int64(max(1, accepted)), accepted)
	c.Met = after <= limit
	return c
}

// median returns how much memory a process had at the end of half of the seconds at
// most, in bytes; 0 if it was not there, or no second was measured. The last one is
// not, when the load ends with it.
func median(points []load.Point, pid int) int64 {
	var all []int64
	for _, p := range points {
		if len(p.State.Processes) == 0 {
			continue
		}
		at := slices.IndexFunc(p.State.Processes, func(q meter.Process) bool { return q.PID == pid })
		if at < 0 {
			return 0
		}
		all = append(all, p.State.Processes[at].RSS)
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[(len(all)-1)/2]
}
