package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Ensure that a settings file that can't be used ends the call with its path and
// what is wrong, before anything is built.
func TestMistakesInASettingsFile(t *testing.T) {
	dir := t.TempDir()
	gone, broken := filepath.Join(dir, "gone.json"), filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{\n  \"Values\": {,}\n}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		gone:   gone + ": the file with the app settings can't be read: ",
		broken: broken + ": not the expected JSON: line 2: ",
	} {
		for _, command := range []string{"serve", "host"} {
			var out, errOut bytes.Buffer
			exit := run(t.Context(), console{args: []string{command, "-settings", file}, out: &out, errOut: &errOut})
			if exit != exitError || !strings.Contains(errOut.String(), want) {
				t.Errorf("%s: exit %d, stderr %q, want %q in it", command, exit, errOut.String(), want)
			}
			if out.Len() > 0 {
				t.Errorf("%s: began: %s", command, out.String())
			}
		}
	}
}

// Ensure that people see which emulators their settings file leaves unused, and that
// no sample accounts get into a Cosmos DB that is somebody's own.
func TestServeShowsWhatIsElsewhere(t *testing.T) {
	file := filepath.Join(t.TempDir(), "local.settings.json")
	text, err := json.Marshal(map[string]any{"IsEncrypted": false, "Values": map[string]string{
		"FUNCTIONS_WORKER_RUNTIME": "custom", "EVENTHUB_NAME": "requests", "EVENTHUB_CONSUMER_GROUP": "relay",
		"TRANSACTIONS_QUEUE": "transactions", "COMPENSATIONS_QUEUE": "compensations", "NOTIFICATIONS_QUEUE": "notifications",
		"SWEEP_SCHEDULE": "*/30 * * * * *",
		// No account answers there; the handler starts all the same.
		"CosmosDB": "AccountEndpoint=http://127.0.0.1:1/;AccountKey=c2VjcmV0",
	}})
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, "serve", "-ephemeral", "-settings", file, "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0")
	lines := strings.Join(p.until(t, "Ctrl-C stops everything"), "\n")
	for _, want := range []string{
		"CosmosDB                  127.0.0.1:1, not the emulator: " + file,
		"making no sample accounts: the Cosmos DB at 127.0.0.1:1 keeps its own accounts",
	} {
		if !strings.Contains(lines, want) {
			t.Errorf("%q is not in\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "c2VjcmV0") || strings.Contains(lines, "EventHubs  ") {
		t.Errorf("shows too much:\n%s", lines)
	}
}

func TestSampleAccountsAreForOurOwnCosmosDB(t *testing.T) {
	hubs, database := map[string]string{"EventHubs": "ns"}, map[string]string{"CosmosDB": "account"}
	for _, tc := range []struct {
		elsewhere map[string]string
		auth      settings.AuthMode
		want      string
	}{
		{nil, settings.AuthOff, ""},
		{hubs, settings.AuthOff, ""},
		{nil, settings.AuthKeys, "the app wants a key"},
		{database, settings.AuthOff, "the Cosmos DB at account keeps its own accounts"},
		{nil, settings.AuthEntra, "the app wants a token"},
	} {
		if got := noSamples(tc.elsewhere, tc.auth); got != tc.want {
			t.Errorf("%v, %s: %q, want %q", tc.elsewhere, tc.auth, got, tc.want)
		}
	}
}

// Ensure that the two apps of Azure can be served here: the backends' functions at
// an address of their own, which the file with the endpoints names.
func TestServeSplit(t *testing.T) {
	p := launch(t, "serve", "-split", "-ephemeral", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0")
	lines := p.until(t, "Ctrl-C stops everything")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(app), "local", "endpoints.json"))
	if err != nil {
		t.Fatal(err)
	}
	var endpoints struct{ HTTP, Backends string }
	if err := json.Unmarshal(text, &endpoints); err != nil {
		t.Fatal(err)
	}
	if endpoints.Backends == "" || endpoints.Backends == endpoints.HTTP {
		t.Errorf("endpoints: %+v", endpoints)
	}
	shown := strings.Join(lines, "\n")
	for _, want := range []string{"function app              http://" + endpoints.HTTP, "backends                  http://" + endpoints.Backends, "/api/account/{id}", "/api/deliveryrequests/{id?}"} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in\n%s", want, shown)
		}
	}
}
