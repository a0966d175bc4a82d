package infra_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/oasdiff/yaml"
)

// pipeline is what is asked of .github/workflows/ci.yml.
type pipeline struct {
	Jobs map[string]struct {
		Env   map[string]string
		Steps []struct{ Name, Run string }
	}
}

func readPipeline(t *testing.T) pipeline {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", ".github", "workflows", "ci.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var p pipeline
	if _, err := yaml.Unmarshal(text, &p, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCompilerWarningsFail runs the step that compiles the Bicep, with an az of
// its own that says what the compiler may say.
func TestCompilerWarningsFail(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the step is for a shell")
	}
	var script string
	for _, step := range readPipeline(t).Jobs["infrastructure"].Steps {
		if step.Name == "Bicep" {
			script = step.Run
		}
	}
	const warning = "/infra/modules/functionapp.bicep(88,7) : Warning BCP037: The property is not allowed"
	for name, c := range map[string]struct {
		build, lint string // what az does then
		fails       bool
	}{
		"nothing to say":     {"echo template", "true", false},
		"a new version":      {"echo 'WARNING: A new Bicep release is available' >&2", "true", false},
		"a warning":          {"echo 'WARNING: " + warning + "' >&2", "true", true},
		"a warning of lint":  {"true", "echo '" + warning + "'", true},
		"an error":           {"echo bad >&2; exit 1", "true", true},
		"an error of lint":   {"true", "exit 1", true},
		"no compiler at all": {"exit 127", "exit 127", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			az := "#!/bin/sh\ncase \"$2\" in\nbuild) " + c.build + " ;;\nlint) " + c.lint + " ;;\nesac\n"
			if err := os.WriteFile(filepath.Join(dir, "az"), []byte(az), 0o700); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("bash", "-e", "-c", script) // as GitHub runs a step
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"), "BICEP_VERSION=v0")
			out, err := cmd.CombinedOutput()
			if (err != nil) != c.fails {
				t.Errorf("the step ends with %v:\n%s", err, out)
			}
		})
	}
}

// TestPipelineSetsWhatIsAsked: azd takes a parameter from the environment, and in
// a pipeline nobody has set it there but the job.
func TestPipelineSetsWhatIsAsked(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "infra", "main.parameters.json"))
	if err != nil {
		t.Fatal(err)
	}
	p := readPipeline(t)
	for _, job := range []string{"preview", "deploy"} {
		env := p.Jobs[job].Env
		for _, m := range variableInFile.FindAllStringSubmatch(string(text), -1) {
			// azd asks who is signed in; the limits of a caller are of no pipeline.
			if _, set := env[m[1]]; !set && m[1] != "AZURE_PRINCIPAL_ID" && m[1] != "AUTH_TENANT_ID" && !strings.HasPrefix(m[1], "RATE_LIMIT_") {
				t.Errorf("the job %s does not set %s", job, m[1])
			}
		}
		// azd refuses the whole project without it (azure.yaml, language custom).
		if env["AZD_ALPHA_ENABLE_LANGUAGE_CUSTOM"] != "true" {
			t.Errorf("the job %s does not switch language custom on", job)
		}
	}
}
