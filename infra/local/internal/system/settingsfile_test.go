package system_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// settingsFile writes a local settings file with the app's names and more values.
func settingsFile(t *testing.T, values map[string]string) string {
	t.Helper()
	all := map[string]string{"FUNCTIONS_WORKER_RUNTIME": "custom", "EVENTHUB_NAME": "requests", "EVENTHUB_CONSUMER_GROUP": "relay",
		"TRANSACTIONS_QUEUE": "transactions", "COMPENSATIONS_QUEUE": "compensations", "NOTIFICATIONS_QUEUE": "notifications",
		"SWEEP_SCHEDULE": "*/30 * * * * *", "COSMOSDB_DATABASE": "fabrikam"}
	for name, value := range values {
		all[name] = value
	}
	text, err := json.Marshal(map[string]any{"IsEncrypted": false, "Values": all})
	path := filepath.Join(t.TempDir(), "local.settings.json")
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Ensure that the app uses the services that a named settings file has elsewhere,
// and the emulators for those that it doesn't name.
func TestConnectionsOfASettingsFileWin(t *testing.T) {
	other, err := system.StartServices(t.Context(), app, system.EmulatorsConfig{
		Addresses: freePorts, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	})
	r := startConfig(t, system.Config{SettingsFile: settingsFile(t, map[string]string{"EventHubs": other.ServiceBus(), "ServiceBus": other.ServiceBus()})})
	if places := r.Elsewhere(); len(places) != 2 || places["EventHubs"] != other.AMQPAddress() || places["ServiceBus"] != other.AMQPAddress() {
		t.Errorf("elsewhere: %v, want Event Hubs and Service Bus at %s", places, other.AMQPAddress())
	}
	r.want(http.StatusAccepted, http.MethodPut, "/api/deliveryrequests/there", request("p-there", time.Now().Add(time.Hour)))
	r.await("there", "Completed", func(p progress) bool { return p.State == "Completed" })
	if there, here := events(other), events(r.Emulators); there == 0 || here != 0 {
		t.Errorf("%d events in the hub that the file names, %d in the system's own", there, here)
	}
}

// events counts what the hubs have taken.
func events(e *system.Emulators) (n int64) {
	for _, h := range e.Broker.Stats().Hubs {
		for _, p := range h.Partitions {
			n += p.Last + 1 - p.First
		}
	}
	return n
}

func TestSettingsFilesThatCannotBeUsed(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone.json")
	for name, tc := range map[string]struct{ file, want string }{
		"gone":         {gone, gone + ": the file with the app settings can't be read"},
		"a bad value":  {settingsFile(t, map[string]string{"LEASE_SECONDS": "long"}), "LEASE_SECONDS"},
		"a bad string": {settingsFile(t, map[string]string{"EventHubs": "Endpoint=sb://localhost"}), "EventHubs: the connection string has no SharedAccessKeyName"},
	} {
		s, err := system.Start(t.Context(), system.Config{App: app, Addresses: freePorts, SettingsFile: tc.file, Logger: slog.New(slog.DiscardHandler)})
		if err == nil {
			t.Errorf("%s: started; close: %v", name, s.Close())
		} else if !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

// Ensure that a host whose state would have to be made by an identity says what to
// do, since identities may make no databases.
func TestHostNeedsAPlaceForItsState(t *testing.T) {
	_, err := system.StartInstance(t.Context(), system.InstanceConfig{
		Name: "instance 1", App: app, HTTP: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler),
		SettingsFile: settingsFile(t, map[string]string{"CosmosDB__accountEndpoint": "https://account.documents.azure.com:443/"}),
	})
	if err == nil || !strings.Contains(err.Error(), "pass -state") {
		t.Errorf("got %v", err)
	}
}
