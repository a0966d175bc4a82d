package tree

import (
	"errors"
	"os"
	"syscall"
)

// attributes keep Ctrl-C from the tree: this process ends it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// killAll kills the process. What it started dies with it by itself.
func killAll(p *os.Process) error {
	if err := p.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// anyLeft reports whether others of the tree are left; they die with the process.
func anyLeft(*os.Process) bool { return false }
