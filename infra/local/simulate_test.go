package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSimulate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "day.svg")
	var out, errOut bytes.Buffer
	args := []string{"simulate", "-shards", "2", "-rate", "1000:1h,30000:10m", "-svg", file}
	if exit := run(t.Context(), console{args: args, out: &out, errOut: &errOut}); exit != exitOK {
		t.Fatalf("exit %d: %s", exit, &errOut)
	}
	for _, want := range []string{"HELD BACK BY", "\n1h0m0s ", "fleet", "nothing waits after 1h", "plot: " + file} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if svg, err := os.ReadFile(file); err != nil || !strings.Contains(string(svg), "0s</text>") {
		t.Errorf("%v: %s", err, svg)
	}
}
