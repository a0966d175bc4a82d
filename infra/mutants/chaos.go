package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

// chaosAll tries the mutants with runs of chaos, one after the other: a run uses
// the whole machine.
func (b *bench) chaosAll(ctx context.Context, mutants []mutant.Mutant, seeds int) ([]result, error) {
	var results []result
	plain := map[string]string{} // the local runtime, by business
	sound := map[string]error{}  // by business and flags
	for _, m := range mutants {
		if plain[m.Business] == "" {
			path := filepath.Join(b.work, fmt.Sprintf("local-%d", len(plain)))
			if err := b.buildLocal(ctx, path, m.Business); err != nil {
				return nil, err
			}
			plain[m.Business] = path
		}
		local, run := plain[m.Business], strings.Join(append([]string{m.Business}, m.Chaos...), " ")
		if _, tried := sound[run]; !tried {
			sound[run] = b.soundChaos(ctx, local, m)
		}
		r, err := result{mutant: m, chaos: true}, sound[run]
		if err == nil {
			r, err = b.chaos(ctx, m, local, seeds)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			r.why, r.invalid = err.Error(), true
		}
		b.show(r)
		results = append(results, r)
	}
	return results, nil
}

// soundChaos returns an error if a run like the mutant's, without any fault, breaks a
// promise: then nothing can be told by such runs.
func (b *bench) soundChaos(ctx context.Context, local string, m mutant.Mutant) error {
	dir := filepath.Join(b.work, "sound")
	defer os.RemoveAll(dir)
	report, err := b.runChaos(ctx, local, overlaid(m.Business), dir, 1, m.Chaos)
	if err != nil {
		return fmt.Errorf("chaos without a mutant: %w", err)
	}
	if broken := report.broken(); len(broken) > 0 {
		return fmt.Errorf("chaos without a mutant breaks %s", strings.Join(broken, ", "))
	}
	return nil
}

// overlaid is the environment in which every build has an overlay, "" for none.
func overlaid(overlay string) []string {
	if overlay == "" {
		return os.Environ()
	}
	return append(os.Environ(), "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -overlay="+overlay))
}

// buildLocal builds the local runtime, with the clients and the checker of chaos.
func (b *bench) buildLocal(ctx context.Context, path, overlay string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-overlay", overlay, "-o", path, "./infra/local")
	cmd.Dir = b.root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build the local runtime: %w\n%s", err, output)
	}
	return nil
}

// chaos tries a mutant with runs of chaos until one finds a broken promise. Only
// the handler has the fault, or only the local runtime: who judges does it by the
// source as it is. The error says that there was no run to judge by.
func (b *bench) chaos(ctx context.Context, m mutant.Mutant, local string, seeds int) (result, error) {
	r := result{mutant: m, chaos: true}
	overlay, err := b.overlay(m)
	if err != nil {
		return r, err
	}
	env := overlaid(overlay)
	if m.InRuntime() {
		env = overlaid(m.Business)
		local = filepath.Join(b.work, m.Name, "local")
		if err := b.buildLocal(ctx, local, overlay); err != nil {
			return r, fmt.Errorf("mutant %s: %w", m.Name, err)
		}
	}
	dir := filepath.Join(b.work, m.Name, "run")
	for seed := 1; seed <= seeds; seed++ {
		report, err := b.runChaos(ctx, local, env, dir, seed, m.Chaos)
		if err != nil {
			return r, fmt.Errorf("chaos with mutant %s: %w", m.Name, err)
		}
		if broken := report.broken(); len(broken) > 0 {
			r.killedBy = fmt.Sprintf("%s (seed %d)", strings.Join(broken, ", "), seed)
			return r, nil
		}
		_ = os.RemoveAll(dir) // the next run makes its own
	}
	r.why = fmt.Sprintf("no promise was broken in %d runs of chaos; %s was to be", seeds, m.Invariant)
	return r, nil
}

// runChaos runs chaos once, with a program and its environment, in a folder of its
// own. It has no encore: whether too little has been seen is not asked here. The
// error says that there was no report.
func (b *bench) runChaos(ctx context.Context, local string, env []string, dir string, seed int, flags []string) (*report, error) {
	args := append([]string{"chaos", "-json", "-dir", dir, "-seed", strconv.Itoa(seed), "-settle", "90s", "-encore", "0s"}, flags...)
	cmd := exec.CommandContext(ctx, local, args...)
	cmd.Dir, cmd.Env = b.root, env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	ended := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	report, err := lastReport(stdout.Bytes())
	if err != nil {
		return nil, fmt.Errorf("%w: %w\n%s", err, ended, stderr.Bytes())
	}
	return report, nil
}

// report is what is read of a report of chaos.
type report struct {
	Settled    bool
	Findings   []struct{ What string }
	Invariants struct {
		Invariants []struct {
			Name       string
			Violations []struct{ What string }
		}
	}
}

// unsettled and findings are broken promises that are no invariant of what is
// stored: not all came to rest, and what clients saw.
const (
	unsettled = "not settled"
	findings  = "findings"
)

// broken returns the names of what was broken. A bound of the run that is not
// reached is not among them: it says that the run proves little.
func (r *report) broken() []string {
	var names []string
	for _, i := range r.Invariants.Invariants {
		if len(i.Violations) > 0 {
			names = append(names, i.Name)
		}
	}
	if len(r.Findings) > 0 {
		names = append(names, findings)
	}
	if !r.Settled && !slices.Contains(names, "accepted") {
		names = append(names, unsettled)
	}
	return names
}

// lastReport reads the report of this app, the last object of the output that has
// one.
func lastReport(output []byte) (*report, error) {
	var last *report
	lines := bufio.NewScanner(bytes.NewReader(output))
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var object struct{ Report *report }
		if json.Unmarshal(lines.Bytes(), &object) == nil && object.Report != nil {
			last = object.Report
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, fmt.Errorf("the run ended without a report")
	}
	return last, nil
}
