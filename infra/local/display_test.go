package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
)

// Ensure that the bar fits into every terminal, and has its counts where these
// do.
func TestBarFits(t *testing.T) {
	for columns := range 200 {
		line := bar(columns, 1010, 1000, 500, 1000)
		if len(line) >= max(columns, 1) {
			t.Errorf("%d columns: %q has %d characters", columns, line, len(line))
		}
		if columns >= 40 && !strings.HasSuffix(line, "sent 1010, accepted 1000, final 500") {
			t.Errorf("%d columns: %q", columns, line)
		}
	}
	if line, want := bar(200, 9, 9, 5, 10), "["+strings.Repeat("#", 20)+strings.Repeat(".", 20)+"] sent 9, accepted 9, final 5"; line != want {
		t.Errorf("%q, want %q", line, want)
	}
	if line := bar(80, 9, 9, 11, 10); !strings.HasPrefix(line, "["+strings.Repeat("#", 40)+"]") {
		t.Errorf("more than planned: %q", line)
	}
}

// Ensure that a terminal of 60 columns stays on one line, also when it becomes
// narrower.
func TestProgressInANarrowTerminal(t *testing.T) {
	var out bytes.Buffer
	columns := 60
	d := newDisplay(&out, false)
	d.terminal, d.columns = true, func() int { return columns }
	var tally workload.Tally
	for range 30 {
		tally.Sent.Add(40)
		tally.Accepted.Add(39)
		tally.Final.Add(30)
		d.show(&tally, 1000)
		columns--
	}
	if strings.Contains(out.String(), "\n") {
		t.Errorf("%q", out.String())
	}
	for i, line := range strings.Split(out.String(), "\r")[1:] {
		text, rest, found := strings.Cut(line, "\x1b[K")
		if !found || rest != "" || len(text) >= 60-i {
			t.Errorf("%d: %q in %d columns", i, line, 60-i)
		}
	}
}
