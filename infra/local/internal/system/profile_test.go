package system_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

func profile(t *testing.T, name string) system.Profile {
	t.Helper()
	p, err := system.ProfileNamed(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Ensure that the profiles keep the rules of the settings, and that what is
// shown in a minute under chaos is what takes longer in production.
func TestRecoveryOfTheProfiles(t *testing.T) {
	bounds := map[string]time.Duration{}
	for _, name := range system.Profiles() {
		r, err := profile(t, name).Recovery(app, "", nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Logf("%s: %v", name, r)
		bounds[name] = r.Total()
	}
	if bounds["chaos"] > time.Minute {
		t.Errorf("chaos: everything is final within %v, want a minute at most", bounds["chaos"])
	}
	if bounds["production"] <= bounds["chaos"] {
		t.Errorf("bounds %v: chaos shortens nothing", bounds)
	}
}

func TestProfiles(t *testing.T) {
	if names := system.Profiles(); !slices.Equal(names, []string{"production", "chaos"}) {
		t.Errorf("profiles: %v", names)
	}
	if lines := profile(t, "production").Table(); len(lines) != 0 {
		t.Errorf("production changes something: %q", lines)
	}
	table := strings.Join(profile(t, "chaos").Table(), "\n")
	for _, want := range []string{"LEASE_SECONDS                7\n", "host: timer's lease          6s\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
	p := profile(t, "chaos")
	p.Settings["LEASE_SECONDS"] = "1"
	if profile(t, "chaos").Settings["LEASE_SECONDS"] == "1" {
		t.Error("the profile itself was changed")
	}
	if _, err := system.ProfileNamed("fast"); err == nil || !strings.Contains(err.Error(), "production or chaos") {
		t.Errorf("unknown profile: %v", err)
	}
}
