package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage/stagetest"
)

func TestMistakesInStage(t *testing.T) {
	for want, args := range map[string][]string{
		`stage: -auth "off": use entra or keys`: {"stage", "-for", "azure", "-auth", "off"},
		"stage: -auth: only with -for azure":    {"stage", "-auth", "keys"},
	} {
		var out, errOut bytes.Buffer
		exit := run(t.Context(), console{args: args, out: &out, errOut: &errOut})
		if exit != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("%v: exit %d, stderr %q, want %q in it", args, exit, errOut.String(), want)
		}
	}
}

// Ensure that staging for Azure takes the way to check callers, and tells the size
// of what will be uploaded. From Windows it can't be staged: see package stage.
func TestStageForAzure(t *testing.T) {
	if runtime.GOOS == "windows" {
		return
	}
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	small, dir := t.TempDir(), filepath.Join(t.TempDir(), "app")
	if err := stagetest.Small(project, small); err != nil {
		t.Fatal(err)
	}
	t.Chdir(small)
	var out, errOut bytes.Buffer
	exit := run(t.Context(), console{args: []string{"stage", "-for", "azure", "-auth", "keys", "-out", dir}, out: &out, errOut: &errOut})
	if exit != exitOK || !regexp.MustCompile(`^staged .* for azure: \d+ files, \d+\.\d MB\n$`).MatchString(out.String()) {
		t.Errorf("exit %d, %q, %q", exit, out.String(), errOut.String())
	}
	function, err := os.ReadFile(filepath.Join(dir, "Ingest", "function.json"))
	if err != nil || !strings.Contains(string(function), `"authLevel": "function"`) {
		t.Errorf("Ingest wants no key: %s, %v", function, err)
	}
}
