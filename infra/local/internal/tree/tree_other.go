//go:build unix && !linux

package tree

import (
	"errors"
	"os"
	"syscall"
)

// attributes put the tree into a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// anyLeft reports whether the process's group has members.
func anyLeft(p *os.Process) bool { return !errors.Is(syscall.Kill(-p.Pid, 0), syscall.ESRCH) }
