package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Ensure that the samples that the documentation shows are some of this business,
// and that they are judged by the rules of every business.
func TestSamplesOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "local.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(doc), "```json\n")
	content, _, ended := strings.Cut(rest, "```")
	if !found || !ended {
		t.Fatal("docs/local.md shows no samples")
	}
	path := filepath.Join(t.TempDir(), "samples.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	samples, subject, err := trialOf(path)
	if err != nil || subject == nil {
		t.Fatal(err)
	}
	b, d := chosen.Business(), trial.Draw{Random: rand.New(rand.NewPCG(1, 1)), Name: "n", At: time.Now()}
	for _, k := range samples.Kinds {
		body, err := json.Marshal(k.Draw(d))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.Parse(body, nil, d.At); (err != nil) != (k.End == "") {
			t.Errorf("%s ends %q, and is read as: %v", k.Name, k.End, err)
		}
	}
	change, err := json.Marshal(samples.Change(d, nil))
	if err == nil {
		_, err = b.ParseChange(change, nil, d.At)
	}
	if err != nil {
		t.Errorf("the change: %v", err)
	}
	if _, _, err := trialOf(filepath.Join(t.TempDir(), "none.json")); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("a file that is not there: %v", err)
	}
}
