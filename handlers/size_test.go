package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mostLines bounds the package's Go without tests.
const mostLines = 1900

// Ensure that this package stays what wires the others up.
func TestHandlersStaySmall(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines += bytes.Count(text, []byte("\n"))
	}
	if lines == 0 || lines > mostLines {
		t.Errorf("handlers has %d lines of Go without tests, want at most %d: move what decides to a package of its own", lines, mostLines)
	}
}
