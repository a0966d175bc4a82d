//go:build unix

package effect

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

type system struct{}

// kill implements processes. A process that is dead takes signals until its
// parent has reaped it.
func (system) kill(pid int) (func() bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil, fmt.Errorf("find process %d: %w", pid, err)
	}
	switch err := p.Kill(); {
	case errors.Is(err, os.ErrProcessDone):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("kill process %d: %w", pid, err)
	}
	return func() bool { return errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) }, nil
}
