package system

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// environment is what the app's process will see: first what the system sets,
// then this process's own environment, then the profile, then the local settings
// file, as with func start.
type environment struct {
	set, profile, file map[string]string
}

// newEnvironment reads the settings of the app that is staged in a folder. file
// is a local settings file; "" is the folder's own.
func newEnvironment(app, file string, set map[string]string) (environment, error) {
	env := environment{set: maps.Clone(set)}
	if env.set == nil {
		env.set = map[string]string{}
	}
	if _, err := os.Stat(filepath.Join(app, "host.json")); err != nil {
		return env, fmt.Errorf("%s is not an app: %w; the stage command makes one", app, err)
	}
	var err error
	env.file, err = config.ReadLocalSettings(app, file)
	return env, err
}

// under returns the environment with a profile.
func (e environment) under(p Profile) environment {
	e.profile = p.Settings
	return e
}

func (e environment) get(name string) string {
	if v, ok := e.set[name]; ok {
		return v
	}
	if v, ok := os.LookupEnv(name); ok {
		return v
	}
	if v, ok := e.profile[name]; ok {
		return v
	}
	return e.file[name]
}

// all returns what wins over the local settings file.
func (e environment) all() map[string]string {
	all := map[string]string{}
	maps.Copy(all, e.profile)
	for _, pair := range os.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			all[name] = value
		}
	}
	maps.Copy(all, e.set)
	return all
}

// idKeysStandIn stands for the keys of ids that are not read yet: see idKeys.
var idKeysStandIn = "0." + base64.StdEncoding.EncodeToString(make([]byte, 32))

// settings reads the app's settings as its handler will. The port and the
// host's name are the host's to give, and the connections that nobody names are
// to the emulators; any value stands for them here.
func (e environment) settings() (settings.Settings, error) {
	const busStandIn = "Endpoint=sb://localhost;SharedAccessKeyName=" + keyName + ";SharedAccessKey=" + key
	standIns := map[string]string{
		"ID_KEYS":                      idKeysStandIn,
		"FUNCTIONS_CUSTOMHANDLER_PORT": "1",
		"WEBSITE_HOSTNAME":             "localhost",
		"EventHubs":                    busStandIn,
		"ServiceBus":                   busStandIn,
		"CosmosDB":                     "AccountEndpoint=http://localhost;AccountKey=" + cosmos.EmulatorKey,
	}
	for _, c := range connections {
		if e.get(c.identity) != "" {
			delete(standIns, c.name)
		}
	}
	s, err := settings.Load(chosen.Business(), func(name string) string { return cmp.Or(e.get(name), standIns[name]) })
	if err != nil {
		return s, fmt.Errorf("settings of the app:\n%w", err)
	}
	return s, nil
}
