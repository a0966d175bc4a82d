package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

// bench tries mutants.
type bench struct {
	root string // the project's, absolute
	work string // a folder for copies; each mutant has one in it
	out  io.Writer

	mu sync.Mutex // of out
}

// result is what became of a mutant.
type result struct {
	mutant   mutant.Mutant
	chaos    bool   // it was tried with chaos, not with the tests
	killedBy string // the test, or the invariants and the run; "" if it survived
	why      string // it counts as survived: also one that is no fault at all, since it does not compile
}

// testTimeout is for the tests of one package with a fault. A fault may well make
// them wait for ever.
const testTimeout = "2m"

// testAll tries the mutants with the tests, n at a time.
func (b *bench) testAll(ctx context.Context, mutants []mutant.Mutant, n int) ([]result, error) {
	sound := map[string]func() error{}
	for _, m := range mutants {
		for _, name := range m.Tests {
			if sound[name] == nil {
				sound[name] = sync.OnceValue(func() error { return b.sound(ctx, name) })
			}
		}
	}
	results := make([]result, len(mutants))
	var group errgroup.Group
	group.SetLimit(n)
	for i, m := range mutants {
		group.Go(func() error {
			var err error
			if results[i], err = b.test(ctx, m, sound); err != nil {
				results[i] = result{mutant: m, why: err.Error()}
			}
			if ctx.Err() == nil {
				b.show(results[i])
			}
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// sound returns an error if the tests of a package fail without any fault: what
// fails anyway kills nothing. The go command remembers what has passed.
func (b *bench) sound(ctx context.Context, name string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", name)
	cmd.Dir = b.root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the tests of %s fail without any fault: %w\n%s", name, err, output)
	}
	return nil
}

// test tries a mutant with the tests of its packages, until one fails. The error
// says that the mutant is no mutant: it does not apply, or it does not compile.
func (b *bench) test(ctx context.Context, m mutant.Mutant, sound map[string]func() error) (result, error) {
	overlay, err := b.overlay(m)
	if err != nil {
		return result{}, err
	}
	r := result{mutant: m, why: "all tests of " + strings.Join(m.Tests, ", ") + " pass"}
	for _, name := range m.Tests {
		if err := sound[name](); err != nil {
			return r, err
		}
		args := []string{"test", "-json", "-vet=off", "-count=1", "-failfast", "-timeout", testTimeout, "-overlay", overlay}
		if m.Run != "" {
			args = append(args, "-run", m.Run)
		}
		cmd := exec.CommandContext(ctx, "go", append(args, name)...)
		cmd.Dir = b.root
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		if err == nil {
			continue
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || ctx.Err() != nil {
			return r, fmt.Errorf("test mutant %s: %w", m.Name, err)
		}
		failed, err := failedTest(&stdout)
		if err != nil {
			return r, fmt.Errorf("test mutant %s: %w\n%s", m.Name, err, stderr.Bytes())
		}
		r.killedBy, r.why = failed+" in "+strings.TrimPrefix(name, "./"), ""
		return r, nil
	}
	return r, nil
}

func (b *bench) overlay(m mutant.Mutant) (string, error) {
	dir := filepath.Join(b.work, m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return m.Overlay(b.root, dir)
}

// failedTest reads the output of go test -json for the first test that failed. The
// error says that there was nothing to run.
func failedTest(output io.Reader) (string, error) {
	var failed, running string
	var built strings.Builder
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output, FailedBuild string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue // of the go command itself
		}
		top, _, _ := strings.Cut(e.Test, "/")
		switch {
		case e.Action == "build-output":
			built.WriteString(e.Output)
		case e.FailedBuild != "":
			return "", fmt.Errorf("it does not compile:\n%s", built.String())
		case e.Action == "fail" && top != "" && failed == "":
			failed = top
		case e.Action == "run":
			running = top
		}
	}
	if err := lines.Err(); err != nil {
		return "", err
	}
	if failed == "" {
		failed = running // when it fails, the process ended in it
	}
	if failed == "" {
		return "", errors.New("its tests don't start")
	}
	return failed, nil
}

// show tells of a result as soon as it is there.
func (b *bench) show(r result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	word, by := "killed  ", r.killedBy
	if by == "" {
		word, by = "SURVIVED", r.why
	}
	fmt.Fprintf(b.out, "%s  %-40s %s\n", word, r.mutant.Name, by)
}
