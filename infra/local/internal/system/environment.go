package system

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/settings"
)

// environment is what the app's process will see: first what the system sets,
// then this process's own environment, then the profile, then
// local.settings.json of the staged app, as with func start.
type environment struct {
	set, profile, file map[string]string
}

func newEnvironment(app string, set map[string]string) (environment, error) {
	env := environment{set: maps.Clone(set)}
	if env.set == nil {
		env.set = map[string]string{}
	}
	if _, err := os.Stat(filepath.Join(app, "host.json")); err != nil {
		return env, fmt.Errorf("%s is not an app: %w; the stage command makes one", app, err)
	}
	path := filepath.Join(app, "local.settings.json")
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return env, nil
	}
	if err != nil {
		return env, err
	}
	var file struct{ Values map[string]string }
	if err := json.Unmarshal(content, &file); err != nil {
		return env, fmt.Errorf("%s: %w", path, err)
	}
	env.file = file.Values
	return env, nil
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

// all returns what wins over local.settings.json.
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

// settings reads the app's settings as its handler will. The port and the
// host's name are the host's to give; any value stands for them here.
func (e environment) settings() (settings.Settings, error) {
	s, err := settings.Load(func(name string) string {
		if v := e.get(name); v != "" {
			return v
		}
		switch name {
		case "FUNCTIONS_CUSTOMHANDLER_PORT":
			return "1"
		case "WEBSITE_HOSTNAME":
			return "localhost"
		}
		return ""
	})
	if err != nil {
		return s, fmt.Errorf("settings of the app:\n%w", err)
	}
	return s, nil
}
