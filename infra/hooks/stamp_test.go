package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"testing"
)

// front is the environment of the first shard after provisioning.
func front() map[string]string {
	vars := deployed()
	maps.Copy(vars, map[string]string{
		envName: "dev", envWorkflowPrincipal: "identity-of-the-front", envWorkflowURL: "https://front.example.com",
		envBackendsURL: "https://backends.example.com", envAuthMode: "keys", envBackendsKey: "the-key", "NOTIFY_URL": "https://receiver.example.com",
	})
	return vars
}

// stamped is that of a further shard, before provisioning.
func stamped() map[string]string {
	return map[string]string{envName: "two", envStamp: "work", envShard: "2", envFront: "dev", "NOTIFY_SIGNING_KEY": "of an earlier time"}
}

// Ensure that a stamp has what its front has, also what that has no longer, and that
// it makes nothing of its own.
func TestAStampJoinsItsFront(t *testing.T) {
	w := newWorld(t, stamped(), nil)
	w.envValues = func(_ context.Context, name string) (map[string]string, error) {
		if name != "dev" {
			t.Errorf("reads %s", name)
		}
		return front(), nil
	}
	w.mustSay(t, exitOK, []string{"join"}, "this is shard 2 of dev")
	for name, want := range map[string]string{
		envFrontPrincipal: "identity-of-the-front", envFrontURL: "https://front.example.com", envBackendsURL: "https://backends.example.com",
		envAuthMode: "keys", envBackendsKey: "the-key", envWorkflowAuthClient: "client-w", "NOTIFY_URL": "https://receiver.example.com", "NOTIFY_SIGNING_KEY": "",
		envShard: "2", envName: "two",
	} {
		if w.vars[name] != want {
			t.Errorf("%s is %q, not %q", name, w.vars[name], want)
		}
	}
	w.set = nil
	for _, command := range []string{"join", "keys", "auth", "hostkey"} {
		w.mustSay(t, exitOK, []string{command})
	}
	if len(w.set) > 0 {
		t.Errorf("set again: %v", w.set)
	}
}

func TestAStampThatCantJoin(t *testing.T) {
	for _, c := range []struct {
		name        string
		here, front map[string]string // changes
		exit        int
		want        string
	}{
		{"no number", map[string]string{envShard: ""}, nil, exitUsage, `SHARD is ""`},
		{"the first's number", map[string]string{envShard: "1"}, nil, exitUsage, `SHARD is "1"`},
		{"no front", map[string]string{envFront: ""}, nil, exitUsage, "set FRONT to the azd environment of the first shard"},
		{"itself", map[string]string{envFront: "two"}, nil, exitUsage, "this environment itself"},
		{"a stamp as front", nil, map[string]string{envStamp: "work"}, exitUsage, "dev is a stamp itself"},
		{"a front that isn't there yet", nil, map[string]string{envWorkflowURL: ""}, exitError, "environment dev: not set: WORKFLOW_URL"},
		{"set by a pipeline", map[string]string{envFront: "", envFrontPrincipal: "p"}, nil, exitOK, "taken as they are"},
		{"no stamp", map[string]string{envStamp: "", envShard: ""}, nil, exitOK, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, stamped(), nil)
			maps.Copy(w.vars, c.here)
			w.envValues = func(context.Context, string) (map[string]string, error) {
				values := front()
				maps.Copy(values, c.front)
				return values, nil
			}
			w.mustSay(t, c.exit, []string{"join"}, c.want)
			if len(w.set) > 0 {
				t.Errorf("set %v", w.set)
			}
		})
	}
	w := newWorld(t, stamped(), nil)
	w.mustSay(t, exitError, []string{"join"}, "environment dev does not exist")
}

// provisioned is the environment of a stamp after provisioning, which has no
// backends.
func provisioned() map[string]string {
	vars := deployed()
	maps.DeleteFunc(vars, func(name, _ string) bool {
		return slices.Contains([]string{envBackendsPrincipal, envBackendsContainer, envBackendsApp}, name)
	})
	maps.Copy(vars, stamped())
	maps.Copy(vars, map[string]string{envFrontURL: "https://front.example.com", envWorkflowURL: "https://two.example.com", envWorkflowAudience: "api://client-w"})
	return vars
}

func TestAStampSaysHowItIsAdded(t *testing.T) {
	newWorld(t, provisioned(), nil).mustSay(t, exitOK, []string{"shard"}, "as shard 2:\n",
		"go run ./infra/local ops shards add two -url https://front.example.com -audience api://client-w -hub requests -database fabrikam "+
			"-eventhubs ns-hubs.servicebus.windows.net -cosmosdb https://account.documents.azure.com:443/ -app https://two.example.com -why ",
		"-hub /subscriptions/sub/resourceGroups/rg-dev/providers/Microsoft.EventHub/namespaces/ns-hubs/eventhubs/requests\n")
	whole := newWorld(t, deployed(), nil)
	whole.mustSay(t, exitOK, []string{"shard"})
	if whole.said.Len() > 0 {
		t.Errorf("of what is no stamp: %s", &whole.said)
	}
	vars := provisioned()
	delete(vars, envEventHubs)
	newWorld(t, vars, nil).mustSay(t, exitError, []string{"shard"}, "not set: "+envEventHubs)
}

// Ensure that hooks ask for, and deploy, the one app that a stamp has.
func TestAStampHasOneApp(t *testing.T) {
	s := working()
	w := newWorld(t, provisioned(), s)
	w.mustSay(t, exitOK, []string{"wait"}, "blobs of workflow: works", "documents of fabrikam: works")
	if s.count(putBackends) > 0 {
		t.Errorf("asked %q", s.asked)
	}
	var called []string
	w = newWorld(t, provisioned(), http.NotFoundHandler())
	w.azd = func(_ context.Context, _ io.Writer, args ...string) error {
		called = args
		return nil
	}
	w.mustSay(t, exitOK, []string{"deploy"})
	if want := []string{"deploy", "workflow", "--no-prompt", "-e", "two"}; !slices.Equal(called, want) {
		t.Errorf("azd %q, not %q", called, want)
	}
}
