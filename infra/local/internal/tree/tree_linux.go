package tree

import "syscall"

// attributes put the tree into a process group of its own, and have the kernel
// kill it when the thread that started it ends, whatever ended it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
