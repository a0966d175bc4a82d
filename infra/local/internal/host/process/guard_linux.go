package process

import (
	"os/exec"
	"syscall"
)

// attributes put the handler into its own process group, and have the kernel
// kill it when the thread that started it ends, whatever ended it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// startGuarded starts a process that dies with this one. The caller calls
// release when the process has ended.
func startGuarded(cmd *exec.Cmd) (release func(), err error) {
	return func() {}, cmd.Start()
}
