package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
)

// settingsFile is what the tools of Azure Functions read.
const settingsFile = "local.settings.json"

// localSettings is such a file.
type localSettings struct {
	IsEncrypted bool              `json:"IsEncrypted"`
	Values      map[string]string `json:"Values"`
}

func defineSettings(*flag.FlagSet) func(context.Context, *hook) error {
	return func(_ context.Context, h *hook) error { return h.settings() }
}

// settings writes the file with which the app runs on this machine against the
// cloud's services, as who is signed in here: addresses and no keys. What else
// the project's own file sets (names of entities, schedules) is taken from
// there, and what was added by hand to the file that is written is kept.
func (h *hook) settings() error {
	environment, err := h.env.name()
	if err != nil {
		return err
	}
	cloud, err := h.env.need(envEventHubs, envServiceBus, envCosmosDB, envStorageAccount)
	if err != nil {
		return err
	}
	file, err := readSettings(filepath.Join(h.project, settingsFile))
	if err != nil {
		return err
	}
	path := filepath.Join(h.project, ".azure", environment, settingsFile)
	before, err := readSettings(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	maps.Copy(file.Values, before.Values)
	maps.DeleteFunc(file.Values, func(name, _ string) bool { return ofConnection(name) })
	maps.Copy(file.Values, map[string]string{
		"AzureWebJobsStorage__accountName":    cloud[envStorageAccount],
		"EventHubs__fullyQualifiedNamespace":  cloud[envEventHubs],
		"ServiceBus__fullyQualifiedNamespace": cloud[envServiceBus],
		"CosmosDB__accountEndpoint":           cloud[envCosmosDB],
	})
	if err := writeSettings(path, file); err != nil {
		return err
	}
	return h.say("wrote %s; run with it: go run ./infra/local serve -settings %[1]s", filepath.Join(".azure", environment, settingsFile))
}

// ofConnection reports whether a setting says how a service is reached.
func ofConnection(name string) bool {
	for _, connection := range []string{"AzureWebJobsStorage", "EventHubs", "ServiceBus", "CosmosDB"} {
		if name == connection || strings.HasPrefix(name, connection+"__") {
			return true
		}
	}
	return false
}

// projectSettings returns settings of the project's own file that must all be set:
// names of entities are no outputs of the deployment, since the app has them by
// default.
func (h *hook) projectSettings(names ...string) (map[string]string, error) {
	file, err := readSettings(filepath.Join(h.project, settingsFile))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if file.Values[name] == "" {
			return nil, fmt.Errorf("%s sets no %s", settingsFile, name)
		}
	}
	return file.Values, nil
}

func readSettings(path string) (localSettings, error) {
	var file localSettings
	data, err := os.ReadFile(path)
	if err != nil {
		return file, err
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return file, fmt.Errorf("%s: %w", path, err)
	}
	if file.IsEncrypted || file.Values == nil {
		return file, fmt.Errorf("%s: want unencrypted \"Values\"", path)
	}
	return file, nil
}

// writeSettings replaces a file at once. Only its owner may read it.
func writeSettings(path string, file localSettings) error {
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	next, err := os.CreateTemp(filepath.Dir(path), settingsFile+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = next.Write(append(data, '\n'))
	if err := errors.Join(err, next.Close()); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return errors.Join(err, os.Remove(next.Name()))
	}
	return nil
}
