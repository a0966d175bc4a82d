package stage

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// generateFunctions writes every function.json that the staged handler asks for:
// the handler is run once, and tells its table. It has to be one for this machine.
func generateFunctions(ctx context.Context, o Options, work string) error {
	handler := filepath.Join(work, o.binaryName())
	env, err := handlerEnv(o.Project)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, handler, "functions")
	var stderr bytes.Buffer
	cmd.Env, cmd.Stderr = env, &stderr
	output, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("stage: ask the handler for its functions: %w\n%s", err, stderr.Bytes())
	}
	var files map[string]json.RawMessage
	if err := json.Unmarshal(output, &files); err != nil {
		return fmt.Errorf("stage: read the handler's functions: %w", err)
	}
	for name, file := range files {
		var content bytes.Buffer
		if err := json.Indent(&content, file, "", "  "); err != nil {
			return fmt.Errorf("stage: %s: %w", name, err)
		}
		content.WriteByte('\n')
		if err := o.writeFunction(filepath.Join(work, name), content.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// handlerEnv is the environment in which the handler tells its functions: that of
// local.settings.json, and what a host adds. Nothing of ours goes in: a function
// that is switched off here belongs into the folder all the same.
func handlerEnv(project string) ([]string, error) {
	const path = "local.settings.json"
	data, err := os.ReadFile(filepath.Join(project, path))
	if err != nil {
		return nil, fmt.Errorf("stage: %w", err)
	}
	var local struct{ Values map[string]string }
	if err := json.Unmarshal(data, &local); err != nil {
		return nil, fmt.Errorf("stage: %s: %w", path, err)
	}
	env := []string{"FUNCTIONS_CUSTOMHANDLER_PORT=1", "WEBSITE_HOSTNAME=localhost"}
	for name, value := range local.Values {
		env = append(env, name+"="+value)
	}
	return env, nil
}
