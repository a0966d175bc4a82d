// Package generate writes the static files that follow from the business, which
// Bicep reads.
package generate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Path is where Bicep reads it, relative to the project.
const Path = "infra/business.json"

// file is infra/business.json.
type file struct {
	Name     string `json:"name"`
	Resource string `json:"resource"` // the path of what clients ask for
	// Metrics is what the names of the handler's metrics begin with, without the dot.
	Metrics    string      `json:"metrics"`
	Containers []container `json:"containers"`
	// Functions are those that run in each of the apps.
	Functions functions `json:"functions"`
	// Backends are the settings that say where the backends are.
	Backends []string `json:"backends"`
}

type functions struct {
	Workflow []string `json:"workflow"`
	Backends []string `json:"backends"`
}

type container struct {
	Name         string   `json:"name"`
	App          string   `json:"app"` // that uses it
	PartitionKey string   `json:"partitionKey"`
	TTL          int      `json:"ttl"`     // cosmosdb.ContainerSpec.DefaultTTLSeconds
	Indexed      []string `json:"indexed"` // paths, such as "/state/?"
}

// The apps.
const (
	workflowApp = "workflow"
	backendsApp = "backends"
)

// Business returns what Bicep needs to know of a business, as JSON for people.
func Business(b business.Business) ([]byte, error) {
	out := file{Name: b.Name, Resource: b.Resource, Metrics: b.Metrics()}
	kept := map[string]bool{}
	for _, backend := range b.Backends {
		out.Backends = append(out.Backends, settings.BackendVariable(backend.Name))
		for _, f := range backend.Functions {
			out.Functions.Backends = append(out.Functions.Backends, f.Name)
		}
		for _, c := range backend.Containers {
			kept[c.Name] = true
		}
	}
	for _, name := range settings.FunctionNames(b) {
		if !slices.Contains(out.Functions.Backends, name) {
			out.Functions.Workflow = append(out.Functions.Workflow, name)
		}
	}
	out.Functions.Backends = append(out.Functions.Backends, "Live", "Ready") // each app has its own
	for _, spec := range cosmosdb.Containers(b) {
		c := container{spec.Name, workflowApp, spec.PartitionKey, spec.DefaultTTLSeconds, []string{}}
		if kept[c.Name] {
			c.App = backendsApp
		}
		for _, field := range spec.Indexed {
			c.Indexed = append(c.Indexed, "/"+strings.ReplaceAll(field, ".", "/")+"/?")
		}
		out.Containers = append(out.Containers, c)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", Path, err)
	}
	return append(text, '\n'), nil
}
