package settings

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
)

// ports are the variables that carry the handler's port, the newer first.
var ports = []string{"FUNCTIONS_CUSTOMHANDLER_PORT", "FUNCTIONS_HTTPWORKER_PORT"}

// Load reads the settings from the environment. The error joins everything
// that is wrong, one line each: the variable, its fault, and what is allowed.
// No line shows a secret. Connections are read if one of the functions that run
// here needs them.
func Load(b business.Business, getenv func(string) string) (Settings, error) {
	var s Settings
	var errs []error
	note := func(err error) {
		if err != nil {
			errs = append(errs, err)
		}
	}
	note(s.loadPort(getenv))
	s.Functions = loadFunctions(b, getenv)
	for _, kind := range connectionKinds {
		if s.Functions.need(b, kind.name) {
			connection, err := kind.load(getenv)
			*kind.field(&s) = connection
			note(err)
		}
	}
	if s.Functions.Has("Operations") {
		s.Storage = loadStorage(getenv)
	}
	backends := backendsAt(getenv("WEBSITE_HOSTNAME"))
	seen := map[string]bool{}
	for _, v := range s.variables(b) {
		if seen[v.Name] { // one value would mean two things
			note(fmt.Errorf("%s: there are two settings of this name; give that of the business another", v.Name))
		}
		seen[v.Name] = true
		note(v.load(getenv, backends))
	}
	if len(errs) == 0 { // rules between values that could not be read say nothing
		for _, rule := range s.Rules(b) {
			if !rule.Holds {
				note(errors.New(rule.Text))
			}
		}
	}
	if len(errs) > 0 {
		return Settings{}, errors.Join(errs...)
	}
	return s, nil
}

func (s *Settings) loadPort(getenv func(string) string) error {
	for _, name := range ports {
		value := getenv(name)
		if value == "" {
			continue
		}
		port, err := strconv.Atoi(value)
		if err != nil || port < 1 || port > 65_535 {
			return fmt.Errorf("%s: %q is not allowed; allowed: a port from 1 to 65535", name, value)
		}
		s.Port = port
		return nil
	}
	return fmt.Errorf("%s: is not set; the Functions host sets it when it starts the handler", ports[0])
}

func (v Variable) load(getenv func(string) string, backends string) error {
	value := getenv(v.Name)
	if value == "" {
		value = v.Default
	}
	if value == "" && v.isBackend() {
		if backends == "" {
			return fmt.Errorf("%s: is not set, and there is no WEBSITE_HOSTNAME to make it from; allowed: %s", v.Name, v.Allowed)
		}
		value = backends
	}
	if err := v.set(value); err != nil {
		return fmt.Errorf("%s: %q %w; allowed: %s", v.Name, value, err, v.Allowed)
	}
	return nil
}

// isBackend reports whether the default comes from WEBSITE_HOSTNAME.
func (v Variable) isBackend() bool {
	return strings.HasPrefix(v.Name, "BACKEND_") && strings.HasSuffix(v.Name, "_URL")
}

// backendsAt returns the URL of this app's own functions: plain HTTP on this
// machine, HTTPS elsewhere.
func backendsAt(hostname string) string {
	if hostname == "" {
		return ""
	}
	host := hostname
	if name, _, err := net.SplitHostPort(hostname); err == nil {
		host = name
	}
	if auth.Loopback(host) {
		return "http://" + hostname + "/api"
	}
	return "https://" + hostname + "/api"
}
