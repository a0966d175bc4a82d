//go:build unix

package process

import (
	"errors"
	"os/exec"
	"syscall"
)

// suspend stops the process group, resume lets it go on. One that has ended is no
// error.
func suspend(cmd *exec.Cmd) error { return signalTree(cmd, syscall.SIGSTOP) }
func resume(cmd *exec.Cmd) error  { return signalTree(cmd, syscall.SIGCONT) }

func signalTree(cmd *exec.Cmd, s syscall.Signal) error {
	if err := syscall.Kill(-cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
