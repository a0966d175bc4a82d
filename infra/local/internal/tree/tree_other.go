//go:build unix && !linux

package tree

import "syscall"

// attributes put the tree into a process group of its own.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
