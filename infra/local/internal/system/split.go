package system

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// functionsSetting, with a number from 0, names a function that a host loads; the
// others it leaves out.
const functionsSetting = "AzureFunctionsJobHost__functions__"

// disabledSetting, with a function's name, switches it off. It is how the two
// apps in Azure differ, too.
const disabledSetting = "AzureWebJobs.%s.Disabled"

// ofBoth are the functions that are in both apps. Those of the backends are in
// theirs, and all others in the app of the workflow.
var ofBoth = []string{"Live", "Ready"}

// backendURLs returns the settings with which the workflow finds the backends.
func backendURLs() []string {
	var names []string
	for _, backend := range chosen.Business().Backends {
		names = append(names, settings.BackendVariable(backend.Name))
	}
	return names
}

// BackendFunctions returns the functions of the backends: those that the workflow
// alone may call, or all.
func BackendFunctions(all bool) []string {
	var names []string
	for _, backend := range chosen.Business().Backends {
		for _, f := range backend.Functions {
			if all || !f.Operators {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// portTries is how many ports after the app's are tried for the backends.
const portTries = 20

// startBackends starts the backends as an app of their own, from the same staged
// folder and with the same services, but without the connections to Event Hubs
// and Service Bus, which no backend needs. app is the app with all functions; its
// settings become those of the workflow.
func (s *System) startBackends(ctx context.Context, app InstanceConfig, env environment) error {
	workflow, backends, err := splitFunctions(app.App)
	if err != nil {
		return err
	}
	if name := env.get(functionsSetting + "0"); name != "" {
		return fmt.Errorf("split the app: the settings already choose its functions (%s0 is %s)", functionsSetting, name)
	}
	app.Name = "backends"
	app.Settings = s.Settings()
	switchOff(app.Settings, workflow, backends)
	for _, c := range connections {
		if c.name != "CosmosDB" {
			app.Settings[c.name], app.Settings[c.identity] = "", "" // as if not set
		}
	}
	if s.Backends, err = startAfter(ctx, app); err != nil {
		return fmt.Errorf("start the backends: %w", err)
	}
	s.endpoints.Backends = s.Backends.Address()
	switchOff(s.set, backends, workflow)
	for _, name := range backendURLs() {
		s.set[name] = s.endpoints.BackendsURL() + "/api"
	}
	return nil
}

// splitFunctions returns the functions of both apps that are staged in a folder.
func splitFunctions(folder string) (workflow, backends []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "function.json"))
	if err != nil {
		return nil, nil, fmt.Errorf("split the app in %s: %w", folder, err)
	}
	ofBackends := BackendFunctions(true)
	for _, file := range files {
		switch name := filepath.Base(filepath.Dir(file)); {
		case slices.Contains(ofBoth, name):
			workflow, backends = append(workflow, name), append(backends, name)
		case slices.Contains(ofBackends, name):
			backends = append(backends, name)
		default:
			workflow = append(workflow, name)
		}
	}
	return workflow, backends, nil
}

// switchOff disables the functions of another app that aren't in one's own.
func switchOff(settings map[string]string, others, own []string) {
	for _, name := range others {
		if !slices.Contains(own, name) {
			settings[fmt.Sprintf(disabledSetting, name)] = "true"
		}
	}
}

// startAfter starts an instance on the next free port after its address.
func startAfter(ctx context.Context, c InstanceConfig) (*Instance, error) {
	first := c.HTTP
	for n := 1; ; n++ {
		var err error
		if c.HTTP, err = portAfter(first, n); err != nil {
			return nil, err
		}
		i, err := StartInstance(ctx, c)
		if !errors.Is(err, syscall.EADDRINUSE) || n == portTries {
			return i, err
		}
	}
}

// portAfter returns the address whose port is the nth after that of an address;
// port 0, which takes a free one, stays.
func portAfter(address string, n int) (string, error) {
	host, text := "127.0.0.1", address
	if strings.Contains(address, ":") {
		var err error
		if host, text, err = net.SplitHostPort(address); err != nil {
			return "", fmt.Errorf("listen after %s: %w", address, err)
		}
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return "", fmt.Errorf("listen after %s: %w", address, err)
	}
	if port != 0 {
		port += n
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// backendsFinished is closed when the backends' app has ended; nil without one.
func (s *System) backendsFinished() <-chan struct{} {
	if s.Backends == nil {
		return nil
	}
	return s.Backends.Finished()
}
