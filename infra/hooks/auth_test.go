package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAuthRegistersBothApps(t *testing.T) {
	for _, lag := range []int{0, 2} { // answers before the directory knows a new object
		d := newDirectory()
		d.lag = lag
		w := newWorld(t, map[string]string{envName: "dev"}, d)
		w.mustSay(t, exitOK, []string{"auth"}, "drone-delivery-dev-0a1b2c3d-workflow has client id client-1", "drone-delivery-dev-0a1b2c3d-backends has client id client-2")

		if want := []string{envAuthAppName, envWorkflowAuthClient, envBackendsAuthClient}; !slices.Equal(w.set, want) {
			t.Errorf("set %q, want %q", w.set, want)
		}
		if w.vars[envWorkflowAuthClient] != "client-1" || w.vars[envBackendsAuthClient] != "client-2" || len(d.apps) != 2 {
			t.Errorf("%v, %d apps", w.vars, len(d.apps))
		}
		app := d.apps["drone-delivery-dev-0a1b2c3d-backends"]
		if app.SignInAudience != "AzureADMyOrg" || !slices.Equal(app.IdentifierURIs, []string{"api://client-2"}) || app.API.RequestedAccessTokenVersion != 2 {
			t.Errorf("%+v, %+v", app, app.API)
		}
		if diff := cmp.Diff([]preAuthorized{{commandLines, []string{accessScope}}}, app.API.PreAuthorizedApplications); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff(roles(), app.AppRoles); diff != "" {
			t.Error(diff)
		}
		if p := d.principals["client-2"]; p == nil || !p.Required {
			t.Errorf("service principal %+v", p)
		}
		if len(d.faults) > 0 {
			t.Errorf("faults: %q", d.faults)
		}
		if waited := w.slept > 0; waited != (lag > 0) {
			t.Errorf("lag %d: slept %v", lag, w.slept)
		}

		d.asked = nil
		w.mustSay(t, exitOK, []string{"auth"}, "nothing to do")
		if len(d.asked) > 0 {
			t.Errorf("asked again: %q", d.asked)
		}
	}
}

// Ensure that a call that was interrupted anywhere goes on with what it made.
func TestAuthGoesOn(t *testing.T) {
	for _, failing := range []string{envWorkflowAuthClient, envBackendsAuthClient} {
		d := newDirectory()
		w := newWorld(t, map[string]string{envName: "dev"}, d)
		set := w.setEnv
		w.setEnv = func(ctx context.Context, name, value string) error {
			if name == failing {
				return errors.New("azd is gone")
			}
			return set(ctx, name, value)
		}
		w.mustSay(t, exitError, []string{"auth"}, "azd is gone")
		w.setEnv = set
		w.suffix = func() string { return "another" }
		w.mustSay(t, exitOK, []string{"auth"})
		if len(d.apps) != 2 || len(d.principals) != 2 || d.apps["drone-delivery-dev-0a1b2c3d-workflow"] == nil {
			t.Errorf("%s: %d apps, %d principals", failing, len(d.apps), len(d.principals))
		}
	}
}

func TestAuthLeavesWhatIsNamed(t *testing.T) {
	d := newDirectory()
	w := newWorld(t, map[string]string{envName: "dev", envWorkflowAuthClient: "by-hand"}, d)
	w.mustSay(t, exitOK, []string{"auth"})
	if w.vars[envWorkflowAuthClient] != "by-hand" || w.vars[envBackendsAuthClient] != "client-1" || len(d.apps) != 1 {
		t.Errorf("%v, %d apps", w.vars, len(d.apps))
	}
}

func TestAuthOnlyForEntra(t *testing.T) {
	d := newDirectory()
	w := newWorld(t, map[string]string{envName: "dev", envAuthMode: "keys"}, d)
	w.mustSay(t, exitOK, []string{"auth"}, "AUTH_MODE is keys")
	w.mustSay(t, exitOK, []string{"grant"}, "AUTH_MODE is keys")
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}

func TestAuthSaysWhatIsMissing(t *testing.T) {
	d := newDirectory()
	d.forbidden = true
	w := newWorld(t, map[string]string{envName: "dev"}, d)
	w.mustSay(t, exitError, []string{"auth"}, "403 Authorization_RequestDenied: Insufficient privileges", "docs/operations.md", "AUTH_MODE keys")
	w = newWorld(t, map[string]string{}, d)
	w.mustSay(t, exitError, []string{"auth"}, "not set: "+envName)
}

// prepared is a directory with both apps, and azd's environment after it.
func prepared(t *testing.T) (*directory, *world) {
	t.Helper()
	d := newDirectory()
	w := newWorld(t, map[string]string{envName: "dev", envWorkflowPrincipal: "identity-1"}, d)
	w.mustSay(t, exitOK, []string{"auth"})
	d.asked = nil
	return d, w
}

func TestGrant(t *testing.T) {
	d, w := prepared(t)
	d.identities["identity-1"] = 2
	w.mustSay(t, exitOK, []string{"grant"}, "identity-1 has role Scheduler of the backends now")
	scheduler := roles()[1].ID
	if diff := cmp.Diff([]assignment{{"identity-1", "principal-of-client-2", scheduler}}, d.assignments); diff != "" {
		t.Error(diff)
	}
	if w.slept != 2*directoryPause {
		t.Errorf("waited %v for the identity", w.slept)
	}
	w.mustSay(t, exitOK, []string{"grant", "-app", "workflow", "-role", "Operator", "-principal", "ada"}, "ada has role Operator of the workflow now")
	if len(d.assignments) != 2 || d.assignments[1] != (assignment{"ada", "principal-of-client-1", roles()[2].ID}) {
		t.Errorf("%v", d.assignments)
	}

	// What is there already, on whichever page, is not made again.
	d.asked = nil
	d.assignments = append([]assignment{{"someone", "principal-of-client-2", scheduler}}, d.assignments...)
	w.mustSay(t, exitOK, []string{"grant"}, "identity-1 has role Scheduler of the backends\n")
	if slices.ContainsFunc(d.asked, func(a string) bool { return strings.HasPrefix(a, "POST") }) {
		t.Errorf("asked %q", d.asked)
	}
	if len(d.faults) > 0 {
		t.Errorf("faults: %q", d.faults)
	}
}

func TestGrantRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		args   []string
		change func(*directory, *world)
		exit   int
		text   string
	}{
		{"another app", []string{"-app", "other"}, nil, exitUsage, `-app "other"`},
		{"another role", []string{"-role", "King"}, nil, exitUsage, `-role "King"`},
		{"no identity", nil, func(_ *directory, w *world) { delete(w.vars, envWorkflowPrincipal) }, exitError, "not set: " + envWorkflowPrincipal},
		{"no application", nil, func(_ *directory, w *world) { w.vars[envBackendsAuthClient] = "gone" }, exitError, "404 Request_ResourceNotFound"},
		{"an application without roles", nil, func(d *directory, _ *world) { d.apps["drone-delivery-dev-0a1b2c3d-backends"].AppRoles = nil }, exitError, "has no role Scheduler"},
		{"no right", []string{"-principal", "ada"}, func(d *directory, _ *world) { d.forbidden = true }, exitError, "docs/operations.md"},
		{"no right, in a pipeline", nil, func(d *directory, _ *world) { d.forbidden = true }, exitOK, "WARNING: can't see whether identity-1 has role Scheduler"},
		{"an identity that never comes", nil, func(d *directory, _ *world) { d.identities["identity-1"] = 1000 }, exitError, "Not a valid reference update"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, w := prepared(t)
			if c.change != nil {
				c.change(d, w)
			}
			w.mustSay(t, c.exit, append([]string{"grant"}, c.args...), c.text)
			if w.slept > directoryLag+directoryPause {
				t.Errorf("waited %v", w.slept)
			}
		})
	}
}
