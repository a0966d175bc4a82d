package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build compiles the handler to path. It is static for both targets, and for
// Azure it asks for no newer processor (GOAMD64), so that the binary runs on any
// Linux of its architecture. It holds no path of this machine.
func build(ctx context.Context, o Options, path string) error {
	args := []string{"build", "-trimpath", "-o", path}
	env := append(os.Environ(), "CGO_ENABLED=0")
	if o.Target == Azure {
		args = append(args, "-ldflags=-s -w")
		env = append(env, "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1")
	}
	code, _ := o.handler()
	code = "./" + filepath.ToSlash(code)
	cmd := exec.CommandContext(ctx, "go", append(args, code)...)
	cmd.Dir = o.Project
	cmd.Env = env
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("stage: the go command is not on PATH; install Go or add its bin folder: %w", err)
	}
	if err != nil {
		return fmt.Errorf("stage: go build %s: %w\n%s", code, err, output.Bytes())
	}
	return os.Chmod(path, 0o755)
}
