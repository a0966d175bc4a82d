// Package meter measures the CPU time and memory of processes. It reads /proc,
// so it works only on Linux; elsewhere every function returns ErrUnsupported.
package meter

import (
	"errors"
	"slices"
	"time"
)

// ErrUnsupported is returned where there is no /proc.
var ErrUnsupported = errors.New("processes can only be measured on Linux")

// Process is what one process has taken since it began.
type Process struct {
	PID    int
	Parent int
	Name   string        // of its program
	CPU    time.Duration // user and system, in steps of 10 ms
	RSS    int64         // memory that is resident, in bytes
}

// below returns the process with an id, and all that descend from it, in the
// order of their ids.
func below(all []Process, pid int) []Process {
	in := map[int]bool{pid: true}
	for grown := true; grown; {
		grown = false
		for _, p := range all {
			if in[p.Parent] && !in[p.PID] {
				in[p.PID], grown = true, true
			}
		}
	}
	var found []Process
	for _, p := range all {
		if in[p.PID] {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b Process) int { return a.PID - b.PID })
	return found
}

// Machine is what all processes of the machine together have taken since it
// started.
type Machine struct {
	Cores int
	Busy  time.Duration // of all cores, added
}

// Share returns which part of all cores was busy from one reading to the next, in
// [0,1], when so much time has passed between them.
func (m Machine) Share(next Machine, passed time.Duration) float64 {
	if passed <= 0 || m.Cores == 0 {
		return 0
	}
	return min(1, max(0, (next.Busy-m.Busy).Seconds()/passed.Seconds()/float64(m.Cores)))
}
