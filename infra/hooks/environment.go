package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// The variables of azd's environment that are read here. azd sets the first three
// itself; the outputs of infra/main.bicep are set after provisioning.
const (
	envName         = "AZURE_ENV_NAME"
	envSubscription = "AZURE_SUBSCRIPTION_ID"
	envTenant       = "AZURE_TENANT_ID"
	envAuthMode     = "AUTH_MODE" // entra when it isn't set, as in infra/main.bicep

	envEventHubs           = "EVENTHUBS_NAMESPACE"
	envServiceBus          = "SERVICEBUS_NAMESPACE"
	envCosmosDB            = "COSMOSDB_ENDPOINT"
	envStorageAccount      = "STORAGE_ACCOUNT_NAME"
	envBlobs               = "STORAGE_BLOB_ENDPOINT"
	envWorkflowContainer   = "WORKFLOW_DEPLOYMENT_CONTAINER"
	envBackendsContainer   = "BACKENDS_DEPLOYMENT_CONTAINER"
	envWorkflowPrincipal   = "WORKFLOW_IDENTITY_PRINCIPAL_ID"
	envIDKeys              = "ID_KEYS"
	envBackendsPrincipal   = "BACKENDS_IDENTITY_PRINCIPAL_ID"
	envResourceGroup       = "AZURE_RESOURCE_GROUP"
	envBackendsApp         = "BACKENDS_APP_NAME"
	envBackendsKey         = "BACKENDS_KEY"  // with AUTH_MODE keys
	envAuthAppName         = "AUTH_APP_NAME" // the beginning of the registrations' names
	envWorkflowAuthClient  = "WORKFLOW_AUTH_CLIENT_ID"
	envBackendsAuthClient  = "BACKENDS_AUTH_CLIENT_ID"
	envStamp               = "STAMP"              // work: a further shard of another environment
	envShard               = "SHARD"              // its number
	envFront               = "FRONT"              // the azd environment of the front
	envFrontPrincipal      = "FRONT_PRINCIPAL_ID" // of the front's identity
	envFrontURL            = "FRONT_URL"
	envBackendsURL         = "BACKENDS_URL"
	envWorkflowURL         = "WORKFLOW_URL"
	envWorkflowAudience    = "WORKFLOW_AUDIENCE"
	authModeEntra          = "entra"
	defaultWaitLimit       = 10 * time.Minute
	defaultCosmosContainer = "transactions"
)

// environment looks a variable up; "" is not set.
type environment func(name string) string

// need returns the values of variables that must all be set. The error names
// every one that isn't.
func (e environment) need(names ...string) (map[string]string, error) {
	values := make(map[string]string, len(names))
	var missing []string
	for _, name := range names {
		if values[name] = e(name); values[name] == "" {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("not set: %s; azd provision sets them: run it, or run this through azd hooks run", strings.Join(missing, ", "))
	}
	return values, nil
}

var environmentName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.()-]{0,63}$`)

// name returns the name of azd's environment, which is also a folder's name.
func (e environment) name() (string, error) {
	values, err := e.need(envName)
	if err != nil {
		return "", err
	}
	if name := values[envName]; environmentName.MatchString(name) {
		return name, nil
	}
	return "", fmt.Errorf("%s: %q is not the name of an environment", envName, values[envName])
}

// entra reports whether the app checks tokens of Entra ID.
func (e environment) entra() bool {
	mode := e(envAuthMode)
	return mode == "" || mode == authModeEntra
}

// stamp reports whether this is a further shard of another environment.
func (e environment) stamp() bool { return e(envStamp) != "" }

// azdEnvValues returns the variables of another of azd's environments.
func azdEnvValues(ctx context.Context, name string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "azd", "env", "get-values", "-e", name, "--output", "json").Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(failed.Stderr))
	}
	values := map[string]string{}
	if err == nil {
		err = json.Unmarshal(out, &values)
	}
	if err != nil {
		return nil, fmt.Errorf("azd env get-values -e %s: %w", name, err)
	}
	return values, nil
}

// azdEnvSet sets a variable of the environment that azd has selected. azd reads
// its environment again after each hook.
func azdEnvSet(ctx context.Context, name, value string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, "azd", "env", "set", name, value)
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("azd env set %s: %w: %s", name, err, strings.TrimSpace(said.String()))
	}
	return nil
}

// azd runs azd in this environment and writes what it says to out.
func azd(ctx context.Context, out io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, "azd", args...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}

// randomKey is a function key: 32 bytes that nobody can guess.
func randomKey() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (package crypto/rand)
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func randomSuffix() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails (package crypto/rand)
	return hex.EncodeToString(b[:])
}
