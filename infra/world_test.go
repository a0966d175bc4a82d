package infra_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oasdiff/yaml"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

// world is what the checks judge: what a deployment would contain in one
// scenario, beside the files of the project that it must fit.
type world struct {
	root      string // the project's folder
	scenario  scenario
	deployed  *bicep.Deployment
	apps      map[string]*app // by the name of the service in azure.yaml
	functions map[string]functionFile
	host      hostFile
	local     map[string]string // Values of local.settings.json
	azure     azureFile
	params    map[string]any // of main.bicep
}

// app is one function app of the deployment.
type app struct {
	name     string // the service's
	site     bicep.Resource
	settings map[string]string // what only the deployment knows is in angle brackets
	identity string            // id of its user-assigned identity
}

// functionFile is a function.json.
type functionFile struct {
	Bindings []map[string]any
	Retry    *struct {
		Strategy                         string
		MaxRetryCount                    *int
		DelayInterval                    string
		MinimumInterval, MaximumInterval string
	}
}

// trigger is the binding that starts the function.
func (f functionFile) trigger() map[string]any {
	for _, b := range f.Bindings {
		if kind, _ := b["type"].(string); strings.HasSuffix(kind, "Trigger") {
			return b
		}
	}
	return nil
}

func (f functionFile) text(name string) string {
	text, _ := f.trigger()[name].(string)
	return text
}

// hostFile is what the checks need of host.json.
type hostFile struct {
	FunctionTimeout string
	CustomHandler   struct {
		InitializationTimeout     string
		EnableProxyingHTTPRequest bool
	}
	Extensions struct {
		EventHubs  struct{ MaxEventBatchSize, PrefetchCount, BatchCheckpointFrequency int }
		ServiceBus struct {
			PrefetchCount, MaxConcurrentCalls int
			MaxAutoLockRenewalDuration        string
		}
	}
	ExtensionBundle struct{ ID, Version string }
}

// azureFile is azure.yaml.
type azureFile struct {
	Name             string
	Metadata         struct{ Template string }
	RequiredVersions map[string]string
	Infra            struct{ Provider, Path, Module string }
	Services         map[string]azureService
	Hooks            map[string]azureHook
}

type azureService struct {
	Project, Host, Language, Dist string
	Hooks                         map[string]azureHook
}

type azureHook struct{ Posix, Windows azureCommand }

type azureCommand struct{ Shell, Run string }

// programs are the Bicep files by folder, which need to be read once.
var programs sync.Map

func program(root string) (*bicep.Program, error) {
	if p, ok := programs.Load(root); ok {
		return p.(*bicep.Program), nil
	}
	p, err := bicep.Load(filepath.Join(root, "infra", "main.bicep"))
	if err == nil {
		programs.Store(root, p)
	}
	return p, err
}

// load reads the project in root and deploys it for a scenario.
func load(root string, s scenario) (*world, error) {
	w := &world{root: root, scenario: s, apps: map[string]*app{}, functions: map[string]functionFile{}}
	p, err := program(root)
	if err != nil {
		return nil, err
	}
	mainFile := filepath.Join(root, "infra", "main.bicep")
	if w.params, err = parameters(mainFile, filepath.Join(root, "infra", "main.parameters.json"), s.environment()); err != nil {
		return nil, err
	}
	to := bicep.Target{SubscriptionID: "00000000-0000-4000-8000-000000000001", TenantID: "00000000-0000-4000-8000-000000000002", Location: "westeurope"}
	if w.deployed, err = p.Deploy(to, w.params); err != nil {
		return nil, err
	}
	return w, errors.Join(w.findApps(), w.readFunctions(), w.readFiles())
}

// findApps finds the function apps by the tag that azd finds them by.
func (w *world) findApps() error {
	for _, site := range w.deployed.Of("Microsoft.Web/sites") {
		a := &app{name: site.Text("tags.azd-service-name"), site: site, settings: map[string]string{}}
		config := w.deployed.Find(site.ID + "/config/appsettings")
		if config == nil {
			return fmt.Errorf("%v: %s has no app settings", site.Position, site.Name)
		}
		values, _ := config.At("properties").(map[string]any)
		for name, value := range values {
			if _, isText := value.(string); !isText && bicep.Text(value) == "" {
				return fmt.Errorf("%v: the setting %s is %v, not a string", config.Position, name, value)
			}
			a.settings[name] = bicep.Text(value)
		}
		identities, _ := site.At("identity.userAssignedIdentities").(map[string]any)
		for id := range identities {
			a.identity = id
		}
		w.apps[a.name] = a
	}
	return nil
}

func (w *world) readFunctions() error {
	paths, err := filepath.Glob(filepath.Join(w.root, "functions", "*", "function.json"))
	if err != nil {
		return err
	}
	for _, path := range paths {
		var f functionFile
		if err := readJSON(path, &f); err != nil {
			return err
		}
		w.functions[filepath.Base(filepath.Dir(path))] = f
	}
	return nil
}

func (w *world) readFiles() error {
	var local struct{ Values map[string]string }
	if err := errors.Join(readJSON(filepath.Join(w.root, "host.json"), &w.host),
		readJSON(filepath.Join(w.root, "local.settings.json"), &local)); err != nil {
		return err
	}
	w.local = local.Values
	text, err := os.ReadFile(filepath.Join(w.root, "azure.yaml"))
	if err != nil {
		return err
	}
	if _, err := yaml.Unmarshal(text, &w.azure, yaml.DecodeOpts{}); err != nil {
		return fmt.Errorf("azure.yaml: %w", err)
	}
	return nil
}

func readJSON(path string, into any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// property is how a property of a resource is shown that only the deployment
// knows.
func property(r *bicep.Resource, path string) string {
	return "<" + r.Type + "/" + r.Name + "." + path + ">"
}

// principal is the id by which an app's identity gets roles.
func (w *world) principal(a *app) string {
	if r := w.deployed.Find(a.identity); r != nil {
		return property(r, "properties.principalId")
	}
	return ""
}

// clientID is the id by which an app's identity gets tokens.
func (w *world) clientID(a *app) string {
	if r := w.deployed.Find(a.identity); r != nil {
		return property(r, "properties.clientId")
	}
	return ""
}
