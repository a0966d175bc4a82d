package meter

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Tree returns a process and all that descend from it, in the order of their ids;
// none if there is no such process.
func Tree(pid int) ([]Process, error) {
	running, err := procfs.AllProcs()
	if err != nil {
		return nil, fmt.Errorf("list the processes: %w", err)
	}
	all := make([]Process, 0, len(running))
	for _, p := range running {
		s, err := p.Stat()
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			continue // it has ended meanwhile
		}
		if err != nil {
			return nil, fmt.Errorf("measure process %d: %w", p.PID, err)
		}
		all = append(all, Process{
			PID: s.PID, Parent: s.PPID, Name: s.Comm, CPU: seconds(s.CPUTime()), RSS: int64(s.ResidentMemory()),
		})
	}
	return below(all, pid), nil
}

// ReadMachine reads what the whole machine has taken.
func ReadMachine() (Machine, error) {
	proc, err := procfs.NewDefaultFS()
	if err != nil {
		return Machine{}, fmt.Errorf("measure the machine: %w", err)
	}
	s, err := proc.Stat()
	if err != nil {
		return Machine{}, fmt.Errorf("measure the machine: %w", err)
	}
	t := s.CPUTotal
	return Machine{Cores: runtime.NumCPU(), Busy: seconds(t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ + t.Steal)}, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Resident returns the resident memory of a process in bytes: now, and at most since
// its start or since ForgetPeak.
func Resident(pid int) (now, peak int64, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	s, err := p.NewStatus()
	if err != nil {
		return 0, 0, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return int64(s.VmRSS), int64(s.VmHWM), nil
}

// ForgetPeak lets the peak of a process's memory begin at what it has now (man 5
// proc_pid_clear_refs).
func ForgetPeak(pid int) error {
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		return fmt.Errorf("forget the peak of a process's memory: %w", err)
	}
	return nil
}

// Environment returns the environment that a process was started with, as NAME=value.
func Environment(pid int) ([]string, error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return nil, fmt.Errorf("environment of process %d: %w", pid, err)
	}
	env, err := p.Environ()
	if err != nil {
		return nil, fmt.Errorf("environment of process %d: %w", pid, err)
	}
	return env, nil
}
