package crash_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/crash"
)

func TestTrigger(t *testing.T) {
	var died []string
	trigger := crash.New(crash.Plan{Points: map[string]int{"save.after": 2}}, func(point string) { died = append(died, point) })
	done := 0
	effect := func() error { done++; return nil }

	if err := trigger.Around("save", effect); err != nil {
		t.Fatalf("the first save: %v", err)
	}
	if err := trigger.Around("save", effect); !errors.Is(err, crash.ErrDead) {
		t.Errorf("the answer to the second save: %v, want ErrDead", err)
	}
	if done != 2 {
		t.Errorf("%d saves took place, want both", done)
	}
	if err := trigger.Around("send", effect); !errors.Is(err, crash.ErrDead) || done != 2 {
		t.Errorf("after the end: %v, %d effects", err, done)
	}
	if diff := cmp.Diff([]string{"save.after"}, died); diff != "" {
		t.Errorf("died at (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"save.before": 2, "save.after": 2}, trigger.Passed()); diff != "" {
		t.Errorf("passed (-want +got):\n%s", diff)
	}
}

func TestTriggerBeforeTheEffect(t *testing.T) {
	trigger := crash.New(crash.Plan{Points: map[string]int{"save.before": 1}}, func(string) {})
	err := trigger.Around("save", func() error { t.Error("the effect took place"); return nil })
	if !errors.Is(err, crash.ErrDead) {
		t.Errorf("error %v, want ErrDead", err)
	}
}

func TestErrorsOfTheEffectArePassedOn(t *testing.T) {
	trigger := crash.New(crash.Plan{}, func(string) {})
	want := errors.New("no")
	if err := trigger.Around("save", func() error { return want }); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

func TestLoadRefusesWhatIsNoPlan(t *testing.T) {
	path := filepath.Join(t.TempDir(), "plan.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := crash.Load(path, ""); err == nil {
		t.Error("half a plan is taken")
	}
	if trigger, err := crash.Load(filepath.Join(t.TempDir(), "none"), ""); err != nil || trigger.Around("save", func() error { return nil }) != nil {
		t.Errorf("without a file: %v", err)
	}
}

// TestLoadKills runs a process of its own to its end.
func TestLoadKills(t *testing.T) {
	if plan := os.Getenv("CRASH_TEST_PLAN"); plan != "" {
		trigger, err := crash.Load(plan, os.Getenv("CRASH_TEST_LOG"))
		if err != nil {
			t.Fatal(err)
		}
		_ = trigger.Around("save", func() error { return nil })
		t.Fatal("still alive")
	}
	dir := t.TempDir()
	plan, log := filepath.Join(dir, "plan.json"), filepath.Join(dir, "log.txt")
	if err := os.WriteFile(plan, []byte(`{"points":{"save.after":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestLoadKills$")
	cmd.Env = append(os.Environ(), "CRASH_TEST_PLAN="+plan, "CRASH_TEST_LOG="+log)
	output, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.Exited() && exit.ExitCode() == 0 || len(output) != 0 {
		t.Errorf("ended with %v, output %q", err, output)
	}
	content, err := os.ReadFile(log)
	if err != nil || string(content) != "save.after\n" {
		t.Errorf("log %q, error %v", content, err)
	}
}
