//go:build unix

package tree

import (
	"errors"
	"os"
	"syscall"
)

// killAll kills the process and all of its group. What has ended is no error.
func killAll(p *os.Process) error {
	if err := syscall.Kill(-p.Pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
