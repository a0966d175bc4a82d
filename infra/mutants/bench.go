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
	"slices"
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
	// killers are the tests that the evidence says kill the mutants, by mutant: each
	// is run before all others, which makes trying a mutant little more than building.
	killers map[string]tests

	mu sync.Mutex // of out
}

// result is what became of a mutant.
type result struct {
	mutant   mutant.Mutant
	chaos    bool   // it was tried with chaos, not with the tests
	killedBy string // the test, or the invariants and the run; "" if it survived
	why      string // it was not killed
	invalid  bool   // there is no verdict: it does not apply or compile, or what is to kill it fails anyway
}

// testTimeout is for the tests of one package with a fault. A fault may well make
// them wait for ever.
const testTimeout = "2m"

// tests are tests of a package.
type tests struct {
	folder string // of the package, relative to the project's root
	run    string // the regular expression of the tests; "" means all
}

func (t tests) args(more ...string) []string {
	args := append([]string{"test", "-vet=off"}, more...)
	if t.run != "" {
		args = append(args, "-run", t.run)
	}
	return append(args, t.folder)
}

// attempts are the tests with which a mutant is tried, in turn.
func (b *bench) attempts(m mutant.Mutant) []tests {
	var turns []tests
	if known, ok := b.killers[m.Name]; ok && slices.Contains(m.Tests, known.folder) {
		turns = append(turns, known)
	}
	for _, folder := range m.Tests {
		turns = append(turns, tests{folder, m.Run})
	}
	return turns
}

// testAll tries the mutants with the tests, n at a time.
func (b *bench) testAll(ctx context.Context, mutants []mutant.Mutant, n int) ([]result, error) {
	sound := b.soundness(ctx, mutants)
	results := make([]result, len(mutants))
	var group errgroup.Group
	group.SetLimit(n)
	for i, m := range mutants {
		group.Go(func() error {
			var err error
			if results[i], err = b.test(ctx, m, sound); err != nil {
				results[i] = result{mutant: m, why: err.Error(), invalid: true}
			}
			if ctx.Err() == nil {
				b.show(results[i])
			}
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// soundness returns what runs tests without any fault, once: what fails anyway kills
// nothing. The known killers of a package are run together.
func (b *bench) soundness(ctx context.Context, mutants []mutant.Mutant) map[tests]func() error {
	together := map[string][]string{}
	for _, m := range mutants {
		if known, ok := b.killers[m.Name]; ok {
			together[known.folder] = append(together[known.folder], known.run)
		}
	}
	passes := map[tests]func() error{}
	once := func(t tests) func() error {
		if passes[t] == nil {
			passes[t] = sync.OnceValue(func() error {
				cmd := exec.CommandContext(ctx, "go", t.args()...)
				cmd.Dir = b.root
				if output, err := cmd.CombinedOutput(); err != nil {
					return fmt.Errorf("the tests of %s fail without a mutant: %w\n%s", t.folder, err, output)
				}
				return nil
			})
		}
		return passes[t]
	}
	sound := map[tests]func() error{}
	for _, m := range mutants {
		for _, t := range b.attempts(m) {
			all := t
			if t == b.killers[m.Name] {
				all.run = strings.Join(slices.Compact(slices.Sorted(slices.Values(together[t.folder]))), "|")
			}
			sound[t] = once(all)
		}
	}
	return sound
}

// test tries a mutant with tests, until one fails. The error says that the mutant is
// no mutant: it does not apply, or it does not compile.
func (b *bench) test(ctx context.Context, m mutant.Mutant, sound map[tests]func() error) (result, error) {
	overlay, err := b.overlay(m)
	if err != nil {
		return result{}, err
	}
	r := result{mutant: m, why: "all tests of " + strings.Join(m.Tests, ", ") + " pass"}
	for _, t := range b.attempts(m) {
		if err := sound[t](); err != nil {
			return r, err
		}
		cmd := exec.CommandContext(ctx, "go", t.args("-json", "-failfast", "-timeout", testTimeout, "-overlay", overlay)...)
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
		r.killedBy, r.why = failed+" in "+strings.TrimPrefix(t.folder, "./"), ""
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

// word is what is said of a mutant that was not killed.
func (r result) word() string {
	if r.invalid {
		return "INVALID "
	}
	return "SURVIVED"
}

// show tells of a result as soon as it is there.
func (b *bench) show(r result) {
	b.mu.Lock()
	defer b.mu.Unlock()
	word, by := "killed  ", r.killedBy
	if by == "" {
		word, by = r.word(), r.why
	}
	fmt.Fprintf(b.out, "%s  %-40s %s\n", word, r.mutant.Name, by)
}
