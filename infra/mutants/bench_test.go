package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/mutants/internal/list"
	"github.com/fabrikam/drone-delivery/infra/mutants/internal/mutant"
)

func TestFailedTest(t *testing.T) {
	for name, c := range map[string]struct {
		output, want, wrong string
	}{
		"a subtest": {
			output: `{"Action":"run","Test":"TestA"}
{"Action":"pass","Test":"TestA"}
{"Action":"run","Test":"TestB"}
{"Action":"fail","Test":"TestB/sub"}
{"Action":"fail","Test":"TestB"}
{"Action":"fail"}`, want: "TestB"},
		"the process ends": {output: `{"Action":"run","Test":"TestA"}
{"Action":"fail"}`, want: "TestA"},
		"no build": {output: `{"Action":"build-output","Output":"x.go:1: oops"}
{"Action":"fail","FailedBuild":"x"}`, wrong: "oops"},
		"no tests": {output: `{"Action":"fail"}`, wrong: "don't start"},
	} {
		got, err := failedTest(strings.NewReader(c.output))
		if got != c.want || (c.wrong != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestLastReport(t *testing.T) {
	output := `{"phase":"settling"}
{"report":{"settled":false,"findings":[{"what":"x"}],"invariants":{"invariants":[` +
		`{"name":"accepted","violations":[]},{"name":"undone","violations":[{"what":"half done"}]}]}}}`
	r, err := lastReport([]byte(output))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.broken(), []string{"undone", findings, unsettled}; !slices.Equal(got, want) {
		t.Errorf("broken are %v, want %v", got, want)
	}
	if _, err := lastReport([]byte(`{"phase":"settling"}`)); err == nil {
		t.Error("a run without a report is one to judge by")
	}
}

func TestSummarize(t *testing.T) {
	killed, survived, invalid := result{killedBy: "TestA in p"}, result{}, result{invalid: true}
	for name, c := range map[string]struct {
		results      []result
		tests, chaos bool // they are enough
	}{
		"all":           {[]result{killed, killed}, true, true},
		"three in four": {[]result{killed, survived, killed, killed}, false, true},
		"two in three":  {[]result{killed, survived, killed}, false, false},
		"no verdict":    {[]result{killed, killed, killed, killed, invalid}, false, false},
	} {
		for chaos, enough := range map[bool]bool{false: c.tests, true: c.chaos} {
			if err := summarize(io.Discard, c.results, chaos, 0); (err == nil) != enough {
				t.Errorf("%s, chaos %t: %v", name, chaos, err)
			}
		}
	}
}

// Ensure a table keeps what another run has found.
func TestTable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.md")
	a, b := mutant.Mutant{Name: "a", Breaks: "A.", File: "f", Invariant: "undone"}, mutant.Mutant{Name: "b", Breaks: "B.", File: "g"}
	for _, results := range [][]result{
		{{mutant: a, killedBy: "TestA in p"}, {mutant: b, killedBy: "TestB in p"}},
		{{mutant: a, chaos: true, killedBy: "undone, leases (seed 2)"}},
		{{mutant: b}},
		{{mutant: a, invalid: true}},
	} {
		if err := writeTable(path, []mutant.Mutant{a, b}, results); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(tableHead, 2, 1, 1, 1, 1) +
		"| a | A. | f | TestA in p | undone | undone, leases (seed 2) |\n| b | B. | g | not noticed | – | – |\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Ensure the evidence has a row for each mutant, and no other.
func TestEvidence(t *testing.T) {
	const path = "../../" + evidencePath
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	again := filepath.Join(t.TempDir(), "mutants.md")
	if err := os.WriteFile(again, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(again, list.All(), nil); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(text)); diff != "" {
		t.Errorf("go run ./infra/mutants -table %s (-want +got)\n%s", path, diff)
	}
}
