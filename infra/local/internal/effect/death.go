package effect

import (
	"fmt"
	"time"
)

// A Death is a handler's that is to die at an effect.
type Death struct {
	watch *Watch
	point string
	pid   int
}

// patience is how long a killed process may take to be gone, and its connection
// to end.
const patience = 10 * time.Second

// lookPause is between two looks whether a killed process is gone.
const lookPause = time.Millisecond

// processes are those of the operating system.
type processes interface {
	// kill ends a process without a warning. It returns what tells whether the
	// process is gone: reaped, not only dead. There is nothing to kill (nil) where
	// the process has ended before.
	kill(pid int) (gone func() bool, err error)
}

// Bring kills the handler, and returns when it is gone and the connection of the
// effect has ended, which closed tells. The effect must not be done after it, nor
// answered.
func (d *Death) Bring(closed <-chan struct{}) {
	killed, err := d.bring(closed)
	switch {
	case err != nil:
		d.watch.log.Error("fault injection: another process was killed than the effect's", "point", d.point, "pid", d.pid, "error", err)
		err = noteDeath(d.watch.dir, fmt.Sprintf("%s%s: process %d: %v", another, d.point, d.pid, err))
	case killed:
		d.watch.log.Info("fault injection: a handler was killed at an effect", "point", d.point, "pid", d.pid)
		err = noteDeath(d.watch.dir, d.point)
	}
	if err != nil {
		d.watch.log.Error("fault injection", "error", err)
	}
}

func (d *Death) bring(closed <-chan struct{}) (killed bool, err error) {
	gone, err := d.watch.processes.kill(d.pid)
	if err != nil {
		return false, err
	}
	deadline := time.NewTimer(d.watch.patience)
	defer deadline.Stop()
	tick := time.NewTicker(lookPause)
	defer tick.Stop()
	for gone != nil && !gone() {
		select {
		case <-tick.C:
		case <-deadline.C:
			return true, fmt.Errorf("it is still there after %v", d.watch.patience)
		}
	}
	select {
	case <-closed:
		return gone != nil, nil
	case <-deadline.C:
		return true, fmt.Errorf("it is gone, and the connection on which the effect came is there after %v", d.watch.patience)
	}
}
