package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/oasdiff/yaml"
)

var projectChecks = []check{
	{"azure.yaml", azureYAML}, {"services and apps", servicesAndApps}, {"hooks", hooks}, {"outputs of the hooks", outputsOfTheHooks},
}

// sourceRoot is where the code is that mutated copies of the other files are
// held to.
const sourceRoot = ".."

// keys are what azd reads in azure.yaml: schemas/v1.0/azure.yaml.json of
// Azure/azure-dev, which lets unknown keys pass.
var keys = map[string][]string{
	"": {"name", "resourceGroup", "metadata", "infra", "services", "resources", "pipeline", "hooks", "requiredVersions", "state", "platform", "workflows", "cloud"},
	"services.*": {"project", "host", "language", "module", "dist", "docker", "k8s", "config", "uses", "env", "hooks", "image", "resourceName",
		"resourceGroup", "apiVersion", "remoteBuild"},
	"hooks": {
		"preprovision", "postprovision", "preinfracreate", "postinfracreate", "preinfradelete", "postinfradelete", "predown", "postdown", "preup", "postup",
		"prepackage", "postpackage", "prepublish", "postpublish", "predeploy", "postdeploy", "prerestore", "postrestore", "prebuild", "postbuild",
	},
	"hooks.*":         {"shell", "run", "continueOnError", "interactive", "windows", "posix", "secrets", "kind", "dir", "config"},
	"hooks.*.posix":   {"shell", "run", "continueOnError", "interactive", "secrets", "kind", "dir", "config"},
	"hooks.*.windows": {"shell", "run", "continueOnError", "interactive", "secrets", "kind", "dir", "config"},
}

var (
	projectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	version     = regexp.MustCompile(`^>= *1\.(\d+)\.(\d+)$`)
)

// azureYAML: keys that azd knows, and what it demands of them.
func azureYAML(w *world) []string {
	text, err := os.ReadFile(filepath.Join(w.root, "azure.yaml"))
	if err != nil {
		return []string{err.Error()}
	}
	var tree map[string]any
	if _, err := yaml.Unmarshal(text, &tree, yaml.DecodeOpts{}); err != nil {
		return []string{err.Error()}
	}
	var out []string
	look := func(path string, v any) {
		o, ok := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(o)) {
			if !slices.Contains(keys[path], key) {
				out = append(out, fmt.Sprintf("azure.yaml: azd knows no key %s %s", path, key))
			}
		}
		if !ok {
			out = append(out, fmt.Sprintf("azure.yaml: %s is no mapping", path))
		}
	}
	look("", tree)
	each := func(v any, fn func(any)) {
		o, _ := v.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(o)) {
			fn(o[key])
		}
	}
	each(tree["services"], func(v any) { look("services.*", v) })
	look("hooks", tree["hooks"])
	each(tree["hooks"], func(v any) {
		look("hooks.*", v)
		for _, system := range []string{"posix", "windows"} {
			if part, ok := v.(map[string]any)[system]; ok {
				look("hooks.*."+system, part)
			}
		}
	})
	if !projectName.MatchString(w.azure.Name) {
		out = append(out, fmt.Sprintf("azure.yaml: %q is no name", w.azure.Name))
	}
	m := version.FindStringSubmatch(w.azure.RequiredVersions["azd"])
	if m == nil {
		return append(out, fmt.Sprintf("azure.yaml: requiredVersions.azd is %q, no least version", w.azure.RequiredVersions["azd"]))
	}
	// 1.26 keeps the modes of files in the package (Azure/azure-dev, changelog).
	if minor, _ := strconv.Atoi(m[1]); minor < 26 {
		out = append(out, fmt.Sprintf("azure.yaml: azd %s packages a handler that can't be started; it takes 1.26", m[0]))
	}
	return out
}

// servicesAndApps: each service is one app, found by its tag, and takes the
// staged folder; a stamp has the workflow's alone.
func servicesAndApps(w *world) []string {
	var out []string
	want := slices.Sorted(maps.Keys(w.azure.Services))
	if w.scenario.stamp {
		want = []string{"workflow"}
	}
	if got := slices.Sorted(maps.Keys(w.apps)); !slices.Equal(got, want) {
		out = append(out, fmt.Sprintf("the apps are tagged %v, and the services of azure.yaml are %v", got, want))
	}
	for _, name := range slices.Sorted(maps.Keys(w.azure.Services)) {
		s := w.azure.Services[name]
		if s.Host != "function" || s.Language != "custom" || s.Project != "." || s.Dist != ".build/azure" {
			out = append(out, fmt.Sprintf("azure.yaml: the service %s is %+v; a custom handler is host function, language custom, project ., dist .build/azure", name, s))
		}
	}
	for _, a := range w.sorted() {
		for path, want := range map[string]any{
			"kind": "functionapp,linux", "properties.functionAppConfig.runtime.name": "custom", "properties.functionAppConfig.runtime.version": "1.0",
			"properties.functionAppConfig.deployment.storage.type": "blobContainer",
		} {
			if got := a.site.At(path); got != want {
				out = append(out, fmt.Sprintf("%s: %s is %v, not %v", a.name, path, got, want))
			}
		}
		plan := w.deployed.Find(a.site.Text("properties.serverFarmId"))
		if plan == nil || plan.Text("sku.name") != "FC1" || plan.Text("sku.tier") != "FlexConsumption" || plan.At("properties.reserved") != true {
			out = append(out, fmt.Sprintf("the plan of %s is none of Flex Consumption on Linux", a.name))
		}
		container := a.site.Text("properties.functionAppConfig.deployment.storage.value")
		if name := container[strings.LastIndex(container, ">")+1:]; !slices.ContainsFunc(w.entities(storageKind+"/blobServices/containers"), func(c string) bool {
			return strings.TrimPrefix(c, "default/") == name
		}) {
			out = append(out, fmt.Sprintf("%s takes its package from %s, which is not deployed", a.name, container))
		}
	}
	for _, group := range w.deployed.Of("Microsoft.Resources/resourceGroups") {
		if group.Text("tags.azd-env-name") != w.scenario.environment()["AZURE_ENV_NAME"] { // by which azd finds it
			out = append(out, fmt.Sprintf("the resource group %s has no tag azd-env-name", group.Name))
		}
	}
	return out
}

var goRun = regexp.MustCompile(`go run (\./\S+) ([a-z]+)`)

// commandsOf are the texts in the Go files of a command, its subcommands among
// them.
func commandsOf(folder string) (map[string]bool, error) {
	switch folder {
	case "./infra/hooks":
		return hookCommands()
	case "./infra/local":
		return localCommands()
	}
	return nil, fmt.Errorf("%s is no command of the project", folder)
}

var (
	hookCommands  = sync.OnceValues(func() (map[string]bool, error) { return literalsOf("infra/hooks") })
	localCommands = sync.OnceValues(func() (map[string]bool, error) { return literalsOf("infra/local") })
)

// hooks: what azure.yaml calls is there, and what must be called is.
func hooks(w *world) []string {
	var out, called []string
	for _, name := range slices.Sorted(maps.Keys(w.azure.Hooks)) {
		for _, system := range []azureCommand{w.azure.Hooks[name].Posix, w.azure.Hooks[name].Windows} {
			if system.Shell != "sh" && system.Shell != "pwsh" {
				out = append(out, fmt.Sprintf("azure.yaml: %s has the shell %q; azd knows sh and pwsh", name, system.Shell))
			}
			commands := goRun.FindAllStringSubmatch(system.Run, -1)
			if len(commands) == 0 {
				out = append(out, fmt.Sprintf("azure.yaml: %s runs %q, no command of the project", name, system.Run))
			}
			for _, m := range commands {
				called = append(called, name+" "+m[2])
				if known, err := commandsOf(m[1]); err != nil || !known[m[2]] {
					out = append(out, fmt.Sprintf("azure.yaml: %s runs %s, and there is no such command", name, m[0]))
				}
			}
		}
	}
	for _, want := range []string{"preprovision join", "preprovision keys", "preprovision auth", "postprovision wait", "postprovision grant", "postprovision settings", "postprovision shard", "prepackage stage", "predeploy stage", "postdeploy hostkey", "postup deploy"} {
		if !slices.Contains(called, want) {
			out = append(out, fmt.Sprintf("azure.yaml: no hook %s", want))
		}
	}
	return out
}

var environmentName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// outputsOfTheHooks: the variables that infra/hooks reads are outputs, are set
// by azd, or are asked for by main.parameters.json.
func outputsOfTheHooks(w *world) []string {
	var out []string
	known := map[string]bool{
		"AZURE_ENV_NAME": true, "AZURE_SUBSCRIPTION_ID": true, // azd's
		"AUTH_APP_NAME": true, "FRONT_URL": true, // of the hooks alone: what app registrations are called, and whom a stamp is added to
	}
	file, err := os.ReadFile(filepath.Join(w.root, "infra", "main.parameters.json"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, m := range variableInFile.FindAllStringSubmatch(string(file), -1) {
		known[m[1]] = true
	}
	for name := range w.deployed.Outputs {
		known[name] = true
		if !environmentName.MatchString(name) {
			out = append(out, fmt.Sprintf("the output %s is no name of an environment variable", name))
		}
	}
	names, err := readByHooks()
	if err != nil {
		return append(out, err.Error())
	}
	for _, name := range names {
		if !known[name] && w.local[name] == "" {
			out = append(out, fmt.Sprintf("infra/hooks reads %s, which is neither an output of main.bicep nor in main.parameters.json", name))
		}
	}
	return out
}

// readByHooks are the texts in infra/hooks that are names of environment
// variables.
var readByHooks = sync.OnceValues(func() ([]string, error) {
	literals, err := literalsOf("infra/hooks")
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(literals))
	return slices.DeleteFunc(names, func(name string) bool { return !environmentName.MatchString(name) }), nil
})
