package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const httpFunction = `{"bindings":[{"type":"httpTrigger","name":"req"},{"type":"http","direction":"out","name":"res"}]}`

// names are the functions that are loaded.
func names(a App) []string {
	var names []string
	for _, f := range a.Functions {
		names = append(names, f.Name)
	}
	return names
}

// Ensure that app settings choose the functions of an app, wherever they come
// from, and that the rest is not even looked at.
func TestFunctionsThatAreNamed(t *testing.T) {
	files := map[string]string{
		"A/function.json": httpFunction, "B/function.json": httpFunction,
		"Broken/function.json": `{"bindings":[{"type":"eventHubTrigger","name":"e","connection":"Nowhere"}]}`,
	}
	const list = "AzureFunctionsJobHost__functions__"
	for name, tc := range map[string]struct {
		own     map[string]string
		environ []string
		values  string
		want    []string
		warning string
	}{
		"own":              {own: map[string]string{list + "0": "B"}, want: []string{"B"}},
		"environment":      {environ: []string{list + "0=A"}, want: []string{"A"}},
		"file":             {values: `"` + list + `0":"B","` + list + `1":"A"`, want: []string{"A", "B"}},
		"own before file":  {own: map[string]string{list + "0": "A"}, values: `"` + list + `0":"Broken"`, want: []string{"A"}},
		"any case":         {own: map[string]string{"azurefunctionsjobhost__FUNCTIONS__0": "a"}, want: []string{"A"}},
		"with a colon":     {own: map[string]string{"AzureFunctionsJobHost:functions:0": "B"}, want: []string{"B"}},
		"with a gap":       {own: map[string]string{list + "0": "A", list + "7": "B"}, want: []string{"A", "B"}},
		"JSON in one":      {own: map[string]string{strings.TrimSuffix(list, "__"): `["A"]`}, want: []string{"A"}},
		"one that isn't":   {own: map[string]string{list + "0": "A", list + "1": "Gone"}, want: []string{"A"}, warning: `host.json.functions: there is no function "Gone"`},
		"only what is not": {own: map[string]string{list + "0": "Gone"}, warning: `there is no function "Gone"`},
		"one that is off":  {own: map[string]string{list + "0": "a", list + "1": "B", "AzureWebJobs.A.Disabled": "true"}, want: []string{"B"}},
		"all but two":      {own: map[string]string{"AzureWebJobs.Broken.Disabled": "True", "AzureWebJobs_B_Disabled": "1", "AzureWebJobs.A.Disabled": "no"}, want: []string{"A"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := map[string]string{"local.settings.json": `{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom"` +
				strings.TrimSuffix(","+tc.values, ",") + `}}`}
			for name, content := range files {
				all[name] = content
			}
			a := mustLoad(t, all, tc.own, tc.environ...)
			if !slices.Equal(names(a), tc.want) {
				t.Errorf("functions %v, want %v", names(a), tc.want)
			}
			if text := strings.Join(a.Warnings, "\n"); !strings.Contains(text, tc.warning) || tc.warning == "" && text != "" {
				t.Errorf("warnings %q, want %q", text, tc.warning)
			}
		})
	}
}

// Ensure that the numbers of a list are numbers, not text: 10 comes after 9.
func TestNumbersOfAList(t *testing.T) {
	own := map[string]string{}
	var want []string
	for i := range 12 {
		name := fmt.Sprintf("F%d", i)
		own[fmt.Sprint("AzureFunctionsJobHost__functions__", i)] = name
		want = append(want, name)
	}
	if a := mustLoad(t, nil, own); !slices.Equal(a.Host.Functions, want) {
		t.Errorf("functions %v, want %v", a.Host.Functions, want)
	}
}

// Ensure that host.json's values can be set in local.settings.json and in the
// environment, and that the environment wins.
func TestOverridesFromEverywhere(t *testing.T) {
	a := mustLoad(t, map[string]string{
		"host.json": `{"version":"2.0","telemetryMode":"OpenTelemetry","customHandler":{"description":{"defaultExecutablePath":"handler"}},
			"extensions":{"serviceBus":{"maxConcurrentCalls":64},"eventHubs":{"maxEventBatchSize":200}}}`,
		"local.settings.json": `{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom",
			"AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls":"8",
			"AzureFunctionsJobHost__extensions__eventHubs__maxEventBatchSize":"20"}}`,
	}, nil, "AzureFunctionsJobHost__extensions__eventHubs__maxEventBatchSize=30", "AzureFunctionsJobHost__extensions__http__routePrefix=v2")
	if h := a.Host; h.ServiceBus.MaxConcurrentCalls != 8 || h.EventHubs.MaxBatch != 30 || h.HTTP.RoutePrefix != "v2" {
		t.Errorf("got %d calls, batches of %d, prefix %q", h.ServiceBus.MaxConcurrentCalls, h.EventHubs.MaxBatch, h.HTTP.RoutePrefix)
	}
	if len(a.Warnings) > 0 {
		t.Errorf("warnings: %q", a.Warnings)
	}
}

// Ensure that a named settings file takes the place of the staged one, and that
// one that can't be used is told with its path.
func TestNamedSettingsFile(t *testing.T) {
	root := app(t, map[string]string{"A/function.json": httpFunction})
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Editors on Windows begin a file with a byte order mark.
	good := write("good.json", "\xef\xbb\xbf"+`{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom","NAME":"named"}}`)
	a, err := Load(root, Sources{File: good})
	if err != nil {
		t.Fatal(err)
	}
	if name, _ := a.Settings.Lookup("NAME"); name != "named" {
		t.Errorf("NAME is %q", name)
	}
	if _, set := a.Settings.Lookup("Hubs"); set {
		t.Error("the staged settings hold as well")
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "gone.json"):          "the file with the app settings can't be read",
		dir:                                      "the file with the app settings can't be read",
		write("broken.json", "{\n  oops"):        "not the expected JSON: line 2: invalid character 'o'",
		write("encrypted.json", `{"Values":{}}`): "IsEncrypted is true",
		write("deep.json", `{"IsEncrypted":false,"Values":{"a":{"b":"c"}}}`): "Values.a must be a string",
	} {
		for _, load := range []func() error{
			func() error { _, err := Load(root, Sources{File: file}); return err },
			func() error { _, err := ReadLocalSettings(root, file); return err },
		} {
			if err := load(); err == nil || !strings.Contains(err.Error(), file+": "+want) {
				t.Errorf("got %v, want %q of %s", err, want, file)
			}
		}
	}
	empty := write("empty.json", `{"IsEncrypted":false}`)
	if _, err := Load(root, Sources{File: empty}); err == nil || !strings.Contains(err.Error(), `set it to "custom" in Values of `+empty) {
		t.Errorf("got %v", err)
	}
}
