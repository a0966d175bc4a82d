//go:build unix && !linux

package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}

// startGuarded starts a process that dies with this one. A shell waits at a
// pipe whose other end only this process has: when this process ends, however
// it ends, the shell reads the end of the pipe and kills the process group.
func startGuarded(cmd *exec.Cmd) (release func(), err error) {
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err == nil {
		guard := exec.Command("/bin/sh", "-c", `read -r _; kill -9 -"$0"`, strconv.Itoa(cmd.Process.Pid))
		guard.Stdin = read
		guard.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err = guard.Start(); err == nil {
			return func() {
				// Before the pipe is closed: the group's id may belong to
				// another process soon.
				_ = guard.Process.Kill()
				_ = guard.Wait()
				_ = errors.Join(read.Close(), write.Close())
			}, nil
		}
		err = errors.Join(err, read.Close(), write.Close())
	}
	return nil, errors.Join(fmt.Errorf("start the guard: %w", err), killTree(cmd), cmd.Wait())
}
