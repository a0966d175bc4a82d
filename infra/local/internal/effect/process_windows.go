package effect

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
)

type system struct{}

// kill implements processes. Here anyone can wait for a process.
func (system) kill(pid int) (func() bool, error) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return nil, nil // it has ended
	}
	switch err := p.Kill(); {
	case errors.Is(err, os.ErrProcessDone):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("kill process %d: %w", pid, err)
	}
	var ended atomic.Bool
	go func() {
		_, err := p.Wait()
		ended.Store(err == nil)
	}()
	return ended.Load, nil
}
