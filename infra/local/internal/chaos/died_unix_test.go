//go:build unix

package chaos

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/tree"
)

// Ensure that nothing waits for a tree that has ended by itself, and that the
// error has what it said last.
func TestTreeThatEndsMeanwhile(t *testing.T) {
	endpoints := filepath.Join(t.TempDir(), "endpoints.json")
	tr := tree.New(tree.Config{
		Command: []string{fake(t, "serve"), endpoints}, Endpoints: endpoints, Output: t.Output(), Grace: 10 * time.Second,
	})
	t.Cleanup(func() {
		if err := tr.Kill(); err != nil {
			t.Error(err)
		}
	})
	if err := tr.Launch(); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Serving(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &run{tree: tr, paths: newPaths(t.TempDir())}
	if err := os.WriteFile(r.paths.output, []byte("serving\nlocal: no space left\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := r.arming(t.Context(), func(ctx context.Context) error {
		if err := syscall.Kill(tr.Pid(), syscall.SIGINT); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if !errors.Is(err, tree.ErrNotServing) || !strings.Contains(err.Error(), "exit code 0: local: no space left; see "+r.paths.output) {
		t.Errorf("error %v, want that it has stopped by itself, how, and what it said", err)
	}
}
