// Command mutants puts small faults into copies of the source, one at a time,
// and shows which test, or which run of chaos, kills each. It fails if a mutant
// survives the tests, no longer applies or does not compile, or if more than
// one in four survive chaos.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/list"
	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "mutants:", err)
		}
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	parallel, seeds int
	chaos           bool
	only, table     string
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.IntVar(&o.parallel, "j", 2, "how many mutants to test in parallel")
	flags.BoolVar(&o.chaos, "chaos", false, "instead of the tests, run chaos with each mutant that names an invariant, one by one")
	flags.IntVar(&o.seeds, "seeds", 3, "with -chaos: how many runs to try on a mutant, each with its own seed")
	flags.StringVar(&o.only, "only", "", "`regexp` of the names or files of the mutants to try")
	flags.StringVar(&o.table, "table", "", "`file` for the results, a Markdown table; it keeps its rows of mutants not tried")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.parallel < 1 || o.seeds < 1 {
		flags.Usage()
		return errors.New("wrong arguments")
	}
	chosen, err := choose(o)
	if err != nil {
		return err
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	evidence, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(evidencePath)))
	if err != nil {
		return err
	}
	b := &bench{root: root, work: work, out: out, killers: killers(string(evidence))}
	begin := time.Now()
	results, err := try(ctx, b, chosen, o)
	if err != nil {
		return err
	}
	if o.table != "" {
		if err := writeTable(o.table, list.All(), results); err != nil {
			return err
		}
	}
	return summarize(out, results, o.chaos, time.Since(begin))
}

func try(ctx context.Context, b *bench, chosen []mutant.Mutant, o options) ([]result, error) {
	if o.chaos {
		return b.chaosAll(ctx, chosen, o.seeds)
	}
	return b.testAll(ctx, chosen, o.parallel)
}

// choose returns the mutants that are to be tried.
func choose(o options) ([]mutant.Mutant, error) {
	pattern, err := regexp.Compile(o.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	chosen := slices.DeleteFunc(list.All(), func(m mutant.Mutant) bool {
		return !pattern.MatchString(m.Name) && !pattern.MatchString(m.File) || o.chaos && m.Invariant == "" || !o.chaos && len(m.Tests) == 0
	})
	if len(chosen) == 0 {
		return nil, fmt.Errorf("-only %q: no mutant matches", o.only)
	}
	return chosen, nil
}

// findRoot returns the project's root: the working folder, or one above it.
func findRoot() (string, error) {
	at, err := os.Getwd()
	for ; err == nil; at = filepath.Dir(at) {
		if _, gone := os.Stat(filepath.Join(at, "go.mod")); gone == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			err = errors.New("no go.mod here or above: run this inside the clone")
		}
	}
	return "", err
}

// summarize says what was not killed, and fails if that is too much: any mutant for
// the tests, more than one in four for chaos, whose runs differ, and any without a
// verdict.
func summarize(out io.Writer, results []result, chaos bool, took time.Duration) error {
	survivors, invalid := 0, 0
	for _, r := range results {
		if r.killedBy != "" {
			continue
		}
		survivors++
		if r.invalid {
			invalid++
		}
		fmt.Fprintf(out, "%s %s: %s\n  %s\n", strings.TrimSpace(r.word()), r.mutant.Name, r.mutant.Breaks, r.why)
	}
	fmt.Fprintf(out, "%d of %d mutants were killed in %v\n", len(results)-survivors, len(results), took.Round(time.Second))
	switch {
	case invalid > 0:
		return fmt.Errorf("%d mutants are invalid", invalid)
	case chaos && 4*survivors <= len(results):
		return nil
	case survivors > 0:
		return fmt.Errorf("%d mutants survived", survivors)
	}
	return nil
}
