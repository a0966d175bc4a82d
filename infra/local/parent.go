package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"
)

var errParentDied = errors.New("the go command that started this process has died")

// endWithParent ends the context when this process was started by "go run" and
// the go command has died: kill -9 of "go run" would otherwise leave the system
// running with nobody to stop it. A binary that was started directly may
// outlive its shell, as any server may.
func endWithParent(ctx context.Context) context.Context {
	path, err := os.Executable()
	if err != nil || !strings.Contains(path, "go-build") {
		return ctx
	}
	ctx, cancel := context.WithCancelCause(ctx)
	parent := os.Getppid()
	go func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if os.Getppid() != parent {
				cancel(errParentDied)
				return
			}
		}
	}()
	return ctx
}
