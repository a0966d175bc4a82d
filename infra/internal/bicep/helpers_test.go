package bicep_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

var target = bicep.Target{SubscriptionID: "sub", TenantID: "tenant", Location: "westeurope", ResourceGroup: "rg"}

// write writes files into a folder of the test and returns the path of
// main.bicep.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(root, "main.bicep")
}

// deploy loads and deploys files; an error's paths are those below the folder.
func deploy(t testing.TB, files map[string]string, params map[string]any) (*bicep.Deployment, string) {
	t.Helper()
	path := write(t, files)
	program, err := bicep.Load(path)
	if err == nil {
		var d *bicep.Deployment
		if d, err = program.Deploy(target, params); err == nil {
			return d, ""
		}
	}
	return nil, strings.ReplaceAll(err.Error(), filepath.Dir(path)+string(filepath.Separator), "")
}

func mustDeploy(t testing.TB, files map[string]string, params map[string]any) *bicep.Deployment {
	t.Helper()
	d, problem := deploy(t, files, params)
	if problem != "" {
		t.Fatal(problem)
	}
	return d
}

// asJSON shows a value with its keys in order.
func asJSON(t testing.TB, v any) string {
	t.Helper()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}
