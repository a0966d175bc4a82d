package stage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// build compiles the handler to path. For Azure it is static, asks for no newer
// processor (GOAMD64), so that it runs on any Linux there, and holds no path of
// this machine. For this machine it is built as go run builds: what the runtime
// and the handler have in common is then compiled once.
func build(ctx context.Context, o Options, path string) error {
	args := []string{"build", "-o", path}
	env := os.Environ()
	if o.Target == Azure {
		args = append(args, "-trimpath", "-ldflags=-s -w")
		env = append(env, "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOAMD64=v1")
	}
	if o.Profile {
		args = append(args, "-tags=profile")
	}
	const code = "./handlers"
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
