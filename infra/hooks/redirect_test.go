package main

import (
	"slices"
	"testing"
)

// Ensure that the page's address is added to those that are there, once.
func TestRedirect(t *testing.T) {
	d := newDirectory()
	d.apps["workflow"] = &application{ID: "object-1", AppID: "client-1", SPA: &singlePage{[]string{"https://of.another.example/ops"}}}
	w := newWorld(t, map[string]string{envWorkflowAuthClient: "client-1", envWorkflowURL: "https://app.example"}, d)
	w.mustSay(t, exitOK, []string{"redirect"}, "at https://app.example/api/ops now")
	want := []string{"https://of.another.example/ops", "https://app.example/api/ops"}
	if got := d.apps["workflow"].SPA.RedirectURIs; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	d.asked = nil
	w.mustSay(t, exitOK, []string{"redirect"}, "at https://app.example/api/ops\n")
	if len(d.asked) != 1 || len(d.faults) > 0 {
		t.Errorf("asked %q, faults %q", d.asked, d.faults)
	}
}

// Ensure that who may not change the directory can go on, that an application that isn't
// there is an error, and that keys need no address.
func TestRedirectRefused(t *testing.T) {
	d := newDirectory()
	vars := map[string]string{envWorkflowAuthClient: "client-1", envWorkflowURL: "https://app.example"}
	w := newWorld(t, vars, d)
	w.mustSay(t, exitError, []string{"redirect"}, "let the page sign operators in at https://app.example/api/ops", "does not exist")
	d.forbidden = true
	w.mustSay(t, exitOK, []string{"redirect"}, "WARNING: can't let the page sign operators in", byHand)
	d.asked = nil
	newWorld(t, map[string]string{envAuthMode: "keys"}, d).mustSay(t, exitOK, []string{"redirect"}, "signs nobody in")
	newWorld(t, map[string]string{}, d).mustSay(t, exitError, []string{"redirect"}, envWorkflowAuthClient, envWorkflowURL)
	if len(d.asked) > 0 {
		t.Errorf("asked %q", d.asked)
	}
}
