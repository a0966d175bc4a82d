package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

func steering(t *testing.T, points int) (*crashes, func() map[string]int) {
	t.Helper()
	dir := t.TempDir()
	var names []string
	for n := range points {
		names = append(names, fmt.Sprintf("p%02d", n))
	}
	c, err := newCrashes(names, dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.watch.Close)
	return c, func() map[string]int {
		content, err := os.ReadFile(filepath.Join(dir, "plan.json"))
		if err != nil {
			t.Fatal(err)
		}
		var plan effect.Plan
		if err := json.Unmarshal(content, &plan); err != nil {
			t.Fatal(err)
		}
		if plan.Run != c.run {
			t.Fatalf("the plan is of run %q, not %q", plan.Run, c.run)
		}
		return plan.Points
	}
}

// note appends to a file.
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
		if len(points) == 0 {
			t.Fatal("nothing is armed")
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
		note(t, deaths(c), chosen+"\n")
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

// Ensure that those armed less often come first, and that a point that was armed
// in vain is armed for its first passing in the end, and stays so.
func TestCrashesTakeTurns(t *testing.T) {
	c, armed := steering(t, 2*armedAtOnce)
	seen := map[string]int{}
	turn := func() map[string]int {
		t.Helper()
		if err := c.arm(); err != nil {
			t.Fatal(err)
		}
		return armed()
	}
	for range 2 * len(passings) {
		points := turn()
		fresh := 0
		for p, passing := range points {
			if seen[p] == len(passings) {
				continue // stays
			}
			if passing < 1 || passing > passings[seen[p]] {
				t.Errorf("%s, armed %d times before, dies at passing %d", p, seen[p], passing)
			}
			seen[p]++
			fresh++
		}
		if fresh != armedAtOnce {
			t.Fatalf("%d points have their turn", fresh)
		}
	}
	for range 2 {
		points := turn()
		for _, p := range c.points {
			if seen[p] != len(passings) || points[p] != 1 {
				t.Errorf("%s was armed %d times, and is now for passing %d", p, seen[p], points[p])
			}
		}
	}
	if err := c.disarm(); err != nil || len(armed()) != 0 {
		t.Errorf("disarmed: %v (%v)", armed(), err)
	}
}

// deaths is the file in which the runtime notes them.
func deaths(c *crashes) string { return filepath.Join(c.dir, "deaths.txt") }

// Ensure that a run fails in which another process was killed than that of the
// effect.
func TestTheDeathOfAnotherFails(t *testing.T) {
	c, _ := steering(t, 3)
	note(t, deaths(c), "p00\nanother: p01: process 7: it is gone\n")
	r := &run{crashes: c}
	if err := r.arm(); err == nil || !strings.Contains(err.Error(), "another process than the effect's: p01") {
		t.Errorf("error %v", err)
	}
}

// stagedApp is the app's folder, without a handler that runs.
func stagedApp(t *testing.T) string {
	t.Helper()
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	app := t.TempDir()
	if err := os.CopyFS(app, os.DirFS(filepath.Join(project, "functions"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"host.json", "local.settings.json"} {
		content, err := os.ReadFile(filepath.Join(project, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(app, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return app
}

// Ensure that the points follow from the business and the app.
func TestEffectsOfTheApp(t *testing.T) {
	app := stagedApp(t)
	subject, err := invariant.NewSubject(chosen.Business(), chosentrial.Trial())
	if err != nil {
		t.Fatal(err)
	}
	all, err := effects(subject, app)
	if err != nil {
		t.Fatal(err)
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(all))); len(unique) != len(all) {
		t.Errorf("an effect is there twice: %v", all)
	}
	for _, want := range []string{
		"notice", "send.requests", "send.compensations", "call.DELETE.ThirdPartyDeliveries", "call.GET.Accounts",
		"write.checkpoints", "write.drones", "write.transactions.Stuck",
	} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is not among %v", want, all)
		}
	}
	if points := pointsOf([]string{"call.GET.Accounts", "call.PUT.Packages"}); !slices.Equal(points,
		[]string{"call.GET.Accounts.before", "call.PUT.Packages.before", "call.PUT.Packages.answer"}) {
		t.Errorf("points %v", points)
	}
	if err := os.RemoveAll(filepath.Join(app, "Packages")); err != nil {
		t.Fatal(err)
	}
	if _, err := effects(subject, app); err == nil || !strings.Contains(err.Error(), "packages/") {
		t.Errorf("a call that no function takes: %v", err)
	}
}
