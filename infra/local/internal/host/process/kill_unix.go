//go:build unix

package process

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
)

// killTree kills the process group, or the process where the group is gone.
// A process that has ended is no error.
func killTree(cmd *exec.Cmd) error {
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err == nil {
		return nil
	}
	if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
