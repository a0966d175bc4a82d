package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func steering(t *testing.T, points int) (*crashes, func() map[string]int) {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for n := range points {
		names = append(names, fmt.Sprintf("p%02d", n))
	}
	c := newCrashes(names, filepath.Join(dir, "plan.json"), filepath.Join(dir, "log"), 1)
	return c, func() map[string]int {
		content, err := os.ReadFile(c.plan)
		if err != nil {
			t.Fatal(err)
		}
		var plan struct{ Points map[string]int }
		if err := json.Unmarshal(content, &plan); err != nil {
			t.Fatal(err)
		}
		return plan.Points
	}
}

// note appends to the log of crashes as a handler does.
func note(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// Ensure that a run in which every armed point is hit at last covers all, and
// never arms one again that was hit.
func TestCrashesCoverAllPoints(t *testing.T) {
	c, armed := steering(t, 40)
	hit := map[string]bool{}
	for round := 0; len(c.coverage().Missed) > 0; round++ {
		if round > 200 {
			t.Fatalf("after %d rounds: %+v", round, c.coverage())
		}
		if err := c.arm(); err != nil {
			t.Fatal(err)
		}
		points := armed()
		if len(points) == 0 || len(points) > armedAtOnce {
			t.Fatalf("%d points armed", len(points))
		}
		chosen := ""
		for p, passing := range points {
			if hit[p] {
				t.Fatalf("%s is armed again", p)
			}
			if passing < 1 || passing > passings[0] {
				t.Fatalf("%s dies at passing %d", p, passing)
			}
			chosen = max(chosen, p)
		}
		hit[chosen] = true
		note(t, c.log, chosen+"\n")
		if n, err := c.look(); n != 1 || err != nil {
			t.Fatalf("%d deaths, %v", n, err)
		}
	}
	want := Coverage{Points: 40, Deaths: 40, Missed: []string{}}
	if diff := cmp.Diff(want, c.coverage()); diff != "" {
		t.Error(diff)
	}
	if err := c.arm(); err != nil || len(armed()) != 0 {
		t.Errorf("all are hit, and %v are armed (%v)", armed(), err)
	}
}

// Ensure that a point that is armed in vain is armed for its first passing, and
// that those armed less often come first.
func TestCrashesTakeTurns(t *testing.T) {
	c, armed := steering(t, 2*armedAtOnce)
	seen := map[string]int{}
	for range 4 {
		if err := c.arm(); err != nil {
			t.Fatal(err)
		}
		for p := range armed() {
			seen[p]++
		}
	}
	for p, n := range seen {
		if n != 2 || len(seen) != 2*armedAtOnce {
			t.Errorf("four rounds have armed %s %d times, and %d points in all", p, n, len(seen))
		}
	}
	if err := c.arm(); err != nil {
		t.Fatal(err)
	}
	for p, passing := range armed() {
		if passing != 1 {
			t.Errorf("%s, armed in vain twice before, dies at passing %d", p, passing)
		}
	}
	if err := c.disarm(); err != nil || len(armed()) != 0 {
		t.Errorf("disarmed: %v (%v)", armed(), err)
	}
}

func TestCrashLogThatIsBeingWritten(t *testing.T) {
	c, _ := steering(t, 3)
	if n, err := c.look(); n != 0 || err != nil {
		t.Errorf("without a log: %d deaths, %v", n, err)
	}
	note(t, c.log, "p00\np0")
	if n, err := c.look(); n != 1 || err != nil {
		t.Errorf("%d deaths, %v; want the whole line only", n, err)
	}
	note(t, c.log, "1\np00\n")
	if n, err := c.look(); n != 2 || err != nil {
		t.Errorf("%d more deaths, %v", n, err)
	}
	if diff := cmp.Diff(Coverage{Points: 3, Deaths: 3, Missed: []string{"p02"}}, c.coverage()); diff != "" {
		t.Error(diff)
	}
}

func TestCrashPointsOfAHandler(t *testing.T) {
	handler := fake(t, "handler")
	points, err := crashPoints(t.Context(), handler)
	if diff := cmp.Diff([]string{"save.before", "save.after"}, points); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := crashPoints(t.Context(), fake(t, "old handler")); err == nil {
		t.Error("a handler that knows of no crash points is taken")
	}
}
