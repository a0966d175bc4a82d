package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
)

// TestTableMatchesFunctionFiles holds the table and functions/ to each other: go run
// ./infra/local generate writes them.
func TestTableMatchesFunctionFiles(t *testing.T) {
	table := newWorld(t).app.functions
	var inTable []string
	for _, f := range table {
		inTable = append(inTable, f.name)
		data, err := os.ReadFile(filepath.Join("../functions", f.name, "function.json"))
		if err != nil {
			t.Error(err)
			continue
		}
		var got customhandler.FunctionFile
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&got); err != nil {
			t.Errorf("%s: %v", f.name, err)
			continue
		}
		if diff := cmp.Diff(f.file(), got); diff != "" {
			t.Errorf("%s (-table +file):\n%s", f.name, diff)
		}
	}
	entries, err := os.ReadDir("../functions")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(inTable, e.Name()) {
			t.Errorf("functions/%s is not in the table", e.Name())
		}
		files, err := os.ReadDir(filepath.Join("../functions", e.Name()))
		if err != nil || len(files) != 1 {
			t.Errorf("functions/%s must hold function.json and nothing else: %v, %v", e.Name(), files, err)
		}
	}
}

// TestFunctionsAreEitherEventOrHTTP guards the table itself.
func TestFunctionsAreEitherEventOrHTTP(t *testing.T) {
	for _, f := range newWorld(t).app.functions {
		if (f.event != nil) == (len(f.endpoints) > 0) || (f.trigger == httpTrigger) != (f.event == nil) {
			t.Errorf("%s is not either", f.name)
		}
		for _, e := range f.endpoints {
			if "/"+f.name == routePrefix+"/"+e.path {
				t.Errorf("%s serves its own name", f.name)
			}
		}
	}
}

// TestEndpointsAreBelowTheirRoute holds every path that a function answers to
// the route by which the host finds the function.
func TestEndpointsAreBelowTheirRoute(t *testing.T) {
	variable := regexp.MustCompile(`\{[^}]+\}`)
	for _, f := range newWorld(t).app.functions {
		if f.trigger != httpTrigger {
			continue
		}
		route := routePattern(f.template)
		for _, e := range f.endpoints {
			if path := variable.ReplaceAllString(e.path, "x"); !route.MatchString(path) {
				t.Errorf("%s: the host's route %s does not lead to %s", f.name, f.template, e.path)
			}
		}
	}
}

// routePattern turns a route of the host into a pattern: {x} is a segment, {x?}
// one that may be missing, {*x} any number of them.
func routePattern(template string) *regexp.Regexp {
	var b strings.Builder
	for i, segment := range strings.Split(template, "/") {
		slash := "/"
		if i == 0 {
			slash = ""
		}
		switch {
		case strings.HasPrefix(segment, "{*"):
			b.WriteString("(" + slash + ".*)?")
		case strings.HasSuffix(segment, "?}"):
			b.WriteString("(" + slash + "[^/]+)?")
		case strings.HasPrefix(segment, "{"):
			b.WriteString(slash + "[^/]+")
		default:
			b.WriteString(slash + regexp.QuoteMeta(segment))
		}
	}
	return regexp.MustCompile("^" + b.String() + "$")
}

// TestLocalSettings holds local.settings.json to what host and handler need:
// every %SETTING% of a function.json, every connection, the runtime.
func TestLocalSettings(t *testing.T) {
	data, err := os.ReadFile("../local.settings.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		IsEncrypted *bool
		Values      map[string]string
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file.IsEncrypted == nil || *file.IsEncrypted {
		t.Error("IsEncrypted must be false: its default is true")
	}
	if file.Values["FUNCTIONS_WORKER_RUNTIME"] != "custom" || file.Values["AzureWebJobsStorage"] == "" {
		t.Errorf("got %v", file.Values)
	}
	reference := regexp.MustCompile(`%([A-Z_]+)%`)
	for _, f := range newWorld(t).app.functions {
		for _, b := range f.file().Bindings {
			text := b.EventHubName + b.ConsumerGroup + b.QueueName + b.Schedule
			for _, match := range reference.FindAllStringSubmatch(text, -1) {
				if file.Values[match[1]] == "" {
					t.Errorf("%s needs %s", f.name, match[1])
				}
			}
			if b.Connection != "" && file.Values[b.Connection] == "" {
				t.Errorf("%s needs the connection %s", f.name, b.Connection)
			}
		}
	}
}

func TestHostJSON(t *testing.T) {
	data, err := os.ReadFile("../host.json")
	if err != nil {
		t.Fatal(err)
	}
	var host struct {
		Version       string
		CustomHandler struct {
			Description               struct{ DefaultExecutablePath string }
			EnableProxyingHTTPRequest bool `json:"enableProxyingHttpRequest"`
		}
		Extensions struct {
			HTTP      struct{ RoutePrefix string }
			EventHubs struct{ MaxEventBatchSize int }
		}
		ExtensionBundle struct{ Version string }
	}
	if err := json.Unmarshal(data, &host); err != nil {
		t.Fatal(err)
	}
	if host.Version != "2.0" || host.CustomHandler.Description.DefaultExecutablePath != "handler" || !host.CustomHandler.EnableProxyingHTTPRequest ||
		"/"+host.Extensions.HTTP.RoutePrefix != routePrefix || host.ExtensionBundle.Version != "[4.*, 5.0.0)" {
		t.Errorf("got %+v", host)
	}
	// A batch of the largest events must fit, in base64 within JSON.
	if largest := host.Extensions.EventHubs.MaxEventBatchSize * (64<<10 + 4<<10) * 4 / 3; largest > maxInvocation {
		t.Errorf("a batch may have %d bytes, more than %d", largest, maxInvocation)
	}
}
