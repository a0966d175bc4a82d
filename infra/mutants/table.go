package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

// evidencePath is the table that is kept with the tests, in the project.
const evidencePath = "docs/evidence/mutants.md"

// tableHead is what stands above the table, with its counts.
const tableHead = `# Mutants

Small faults, each put into a copy of the source, and what noticed it: a test, and for those that break an invariant a run of
chaos as well, with the invariants that it found broken. Written by ` + "`go run ./infra/mutants -table docs/evidence/mutants.md`" + `,
and by the same with ` + "`-chaos`" + `. A dash is what was not tried yet.

%d mutants: tests kill %d. %d name an invariant; chaos was run with %d of these, and noticed %d.

| mutant | what is wrong with it | file | killed by the test | breaks | chaos found broken |
|---|---|---|---|---|---|
`

// The cells without what noticed a mutant.
const (
	untried  = "–"
	survived = "not noticed"
)

// writeTable writes a row for each of the mutants: what the results say, or else
// what the file said before.
func writeTable(path string, mutants []mutant.Mutant, results []result) error {
	before, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	byTests, byChaos := cells(string(before))
	for _, r := range results {
		if r.invalid {
			continue
		}
		into := byTests
		if r.chaos {
			into = byChaos
		}
		into[r.mutant.Name] = cmp.Or(r.killedBy, survived)
	}
	var rows strings.Builder
	tested, naming, run, noticed := 0, 0, 0, 0
	for _, m := range mutants {
		byTest, seen := byTests[m.Name], byChaos[m.Name]
		if m.Invariant == "" {
			seen = ""
		}
		tested += count(byTest != "" && byTest != survived)
		naming += count(m.Invariant != "")
		run += count(seen != "")
		noticed += count(seen != "" && seen != survived)
		rows.WriteString(row(m.Name, m.Breaks, m.File, byTest, m.Invariant, seen))
	}
	head := fmt.Sprintf(tableHead, len(mutants), tested, naming, run, noticed)
	return os.WriteFile(path, []byte(head+rows.String()), 0o644)
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}

// row writes a row of the table; cells reads it.
func row(columns ...string) string {
	for i, c := range columns {
		if c == "" {
			columns[i] = untried
		}
	}
	return fmt.Sprintf("| %s |\n", strings.Join(columns, " | "))
}

// cells returns what a table says of each mutant: the test, and the run of chaos.
func cells(table string) (byTests, byChaos map[string]string) {
	byTests, byChaos = map[string]string{}, map[string]string{}
	for line := range strings.Lines(table) {
		columns := strings.Split(strings.Trim(line, "|\n "), " | ")
		if len(columns) != 6 {
			continue
		}
		for column, into := range map[int]map[string]string{3: byTests, 5: byChaos} {
			if cell := columns[column]; cell != untried {
				into[columns[0]] = cell
			}
		}
	}
	return byTests, byChaos
}

// killers returns the tests that a table says kill the mutants, by mutant.
func killers(table string) map[string]tests {
	by, _ := cells(table)
	killers := map[string]tests{}
	for name, cell := range by {
		if test, folder, ok := strings.Cut(cell, " in "); ok {
			killers[name] = tests{"./" + folder, "^" + test + "$"}
		}
	}
	return killers
}
