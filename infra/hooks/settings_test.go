package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// written returns the file that the command has written.
func (w *world) written(t *testing.T) (string, map[string]string) {
	t.Helper()
	path := filepath.Join(w.project, ".azure", "dev", settingsFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file localSettings
	if err := json.Unmarshal(data, &file); err != nil || file.IsEncrypted {
		t.Fatalf("%s: %v", data, err)
	}
	return path, file.Values
}

// Ensure that the handler starts with the file, by identity everywhere.
func TestSettingsAreTheHandlers(t *testing.T) {
	w := newWorld(t, deployed(), nil)
	w.mustSay(t, exitOK, []string{"settings"}, "serve -settings "+filepath.Join(".azure", "dev", settingsFile))
	_, values := w.written(t)
	s, err := settings.Load(chosen.Business(), func(name string) string {
		switch name { // set by the host
		case "FUNCTIONS_CUSTOMHANDLER_PORT":
			return "1234"
		case "WEBSITE_HOSTNAME":
			return "localhost:7071"
		}
		return values[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		connection settings.Connection
		address    string
	}{
		{s.EventHubs, "ns-hubs.servicebus.windows.net"},
		{s.ServiceBus, "ns-queues.servicebus.windows.net"},
		{s.CosmosDB, "https://account.documents.azure.com:443/"},
	} {
		if c.connection.Address != c.address || c.connection.ConnectionString.Set() || c.connection.Credential != "" {
			t.Errorf("%v, want the default credential at %s", c.connection, c.address)
		}
	}
	if values["AzureWebJobsStorage__accountName"] != "storage" || values["AzureWebJobsStorage"] != "" || values["FUNCTIONS_WORKER_RUNTIME"] != "custom" {
		t.Errorf("for the host: %v", values)
	}
	if s.EventHub != "requests" || s.Database != "fabrikam" {
		t.Errorf("entities: %s, %s", s.EventHub, s.Database)
	}
}

func TestSettingsAreReplacedAndKept(t *testing.T) {
	w := newWorld(t, deployed(), nil)
	w.mustSay(t, exitOK, []string{"settings"})
	path, values := w.written(t)
	values["LOG_LEVEL"] = "debug"
	values["EventHubs"] = "Endpoint=sb://elsewhere"
	values["CosmosDB__clientId"] = "somebody"
	if err := writeSettings(path, localSettings{Values: values}); err != nil {
		t.Fatal(err)
	}
	w.vars[envServiceBus] = "new.servicebus.windows.net"
	w.mustSay(t, exitOK, []string{"settings"})
	_, values = w.written(t)
	if values["LOG_LEVEL"] != "debug" || values["ServiceBus__fullyQualifiedNamespace"] != "new.servicebus.windows.net" {
		t.Errorf("%v", values)
	}
	for _, name := range []string{"EventHubs", "CosmosDB__clientId"} {
		if _, ok := values[name]; ok {
			t.Errorf("%s is still there", name)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("in the folder: %v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestSettingsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*testing.T, *world)
		text   string
	}{
		{"outputs missing", func(_ *testing.T, w *world) { delete(w.vars, envServiceBus); delete(w.vars, envStorageAccount) },
			"not set: " + envServiceBus + ", " + envStorageAccount},
		{"no environment", func(_ *testing.T, w *world) { delete(w.vars, envName) }, "not set: " + envName},
		{"an environment elsewhere", func(_ *testing.T, w *world) { w.vars[envName] = "../.." }, "is not the name of an environment"},
		{"no project", func(t *testing.T, w *world) { w.project = t.TempDir() }, settingsFile},
		{"damaged", func(t *testing.T, w *world) { put(t, w, `{`) }, settingsFile},
		{"encrypted", func(t *testing.T, w *world) { put(t, w, `{"IsEncrypted":true,"Values":{}}`) }, "unencrypted"},
		{"empty", func(t *testing.T, w *world) { put(t, w, `{}`) }, "unencrypted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, deployed(), nil)
			c.change(t, w)
			w.mustSay(t, exitError, []string{"settings"}, c.text)
		})
	}
}

// put replaces the file that was written before.
func put(t *testing.T, w *world, text string) {
	t.Helper()
	w.mustSay(t, exitOK, []string{"settings"})
	path, _ := w.written(t)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
