// Command hooks does what azd can't do around a deployment. azure.yaml calls
// it: join, keys and auth before provisioning, then wait, grant, redirect, settings
// and shard; hostkey after a deployment; deploy at the end of azd up.
//
// The environment that azd gives its hooks holds everything it needs: the
// outputs of infra/main.bicep and the values of "azd env set" (Microsoft Learn,
// "Customize your Azure Developer CLI workflows using command and event
// hooks"). Running a command again is always safe.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// graphURL is Microsoft Graph, and managerURL Azure Resource Manager, in the
// global cloud.
const (
	graphURL   = "https://graph.microsoft.com/v1.0"
	managerURL = "https://management.azure.com"
)

// hook is one call of this command, and all that it has of the world.
type hook struct {
	out     io.Writer
	env     environment
	project string // the project's root, where azd runs its hooks
	clock   clock
	// credential is who deploys.
	credential func(tenant string) (azcore.TokenCredential, error)
	transport  policy.Transporter // nil for the default
	graphURL   string
	managerURL string
	// setEnv sets a variable of azd's environment.
	setEnv func(ctx context.Context, name, value string) error
	// envValues returns the variables of another environment.
	envValues func(ctx context.Context, name string) (map[string]string, error)
	// azd runs azd and writes what it says to out.
	azd func(ctx context.Context, out io.Writer, args ...string) error
	// suffix makes a name that nobody else has, key a function key.
	suffix, key func() string
}

// command is one subcommand.
type command struct {
	name, synopsis string
	// define adds the command's flags and returns what runs it.
	define func(*flag.FlagSet) func(context.Context, *hook) error
}

func commands() []command {
	return []command{
		{"join", "with STAMP work: take over from the environment FRONT what a stamp shares with it", defineJoin},
		{"keys", "make the key that signs minted ids, and with AUTH_MODE keys the backends' function key, unless they are set", defineKeys},
		{"auth", "make the two app registrations, if the app checks Entra ID tokens and none are named", defineAuth},
		{"wait", "wait until the new role assignments work", defineWait},
		{"grant", "assign an app role, by default Scheduler of the backends to the workflow app's identity", defineGrant},
		{"redirect", "let the operators' page sign in: add its address to the workflow's app registration", defineRedirect},
		{"deploy", "run azd deploy --all, and retry while the upload is refused because a role doesn't work yet", defineDeploy},
		{"hostkey", "with AUTH_MODE keys: give the backends the function key that the workflow sends", defineHostKey},
		{"settings", "write .azure/<environment>/local.settings.json, to run here against the cloud", defineSettings},
		{"shard", "with STAMP work: say the command that adds the shard to the map", defineShard},
	}
}

// usageError is a mistake in the words of the call.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	project, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "hooks: %v\n", err)
		os.Exit(exitError)
	}
	h := &hook{
		out: os.Stdout, env: os.Getenv, project: project, clock: systemClock(),
		credential: deployer, graphURL: graphURL, managerURL: managerURL, setEnv: azdEnvSet, envValues: azdEnvValues, azd: azd, suffix: randomSuffix, key: randomKey,
	}
	os.Exit(run(ctx, h, os.Args[1:], os.Stderr))
}

// deployer is who is signed in with azd, else with az: in a pipeline that is
// the federated identity, at home the developer.
func deployer(tenant string) (azcore.TokenCredential, error) {
	azd, err := azidentity.NewAzureDeveloperCLICredential(&azidentity.AzureDeveloperCLICredentialOptions{TenantID: tenant})
	if err != nil {
		return nil, fmt.Errorf("AZURE_TENANT_ID: %w", err)
	}
	az, err := azidentity.NewAzureCLICredential(&azidentity.AzureCLICredentialOptions{TenantID: tenant})
	if err != nil {
		return nil, fmt.Errorf("AZURE_TENANT_ID: %w", err)
	}
	return azidentity.NewChainedTokenCredential([]azcore.TokenCredential{azd, az}, nil)
}

// run carries out one call and returns its exit code.
func run(ctx context.Context, h *hook, args []string, errOut io.Writer) int {
	err := dispatch(ctx, h, args)
	var usage *usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(errOut, "hooks: %s\n", usage.text)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(errOut, "hooks: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintf(errOut, "hooks: %v\n", err)
		return exitError
	}
}

func dispatch(ctx context.Context, h *hook, args []string) error {
	if len(args) == 0 || args[0] == "-h" || args[0] == "-help" || args[0] == "--help" || args[0] == "help" {
		usage(h.out)
		if len(args) == 0 {
			return &usageError{"name a command"}
		}
		return nil
	}
	for _, c := range commands() {
		if c.name != args[0] {
			continue
		}
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		do := c.define(flags)
		if err := flags.Parse(args[1:]); errors.Is(err, flag.ErrHelp) {
			flags.SetOutput(h.out)
			fmt.Fprintf(h.out, "usage: go run ./infra/hooks %s [flags]\n\n%s\n\n", c.name, c.synopsis)
			flags.PrintDefaults()
			return err
		} else if err != nil {
			return &usageError{fmt.Sprintf("%s: %v", c.name, err)}
		}
		if flags.NArg() > 0 {
			return &usageError{fmt.Sprintf("%s: unexpected %q", c.name, flags.Arg(0))}
		}
		if err := do(ctx, h); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		return nil
	}
	return &usageError{fmt.Sprintf("unknown %q; see -help", args[0])}
}

func usage(w io.Writer) {
	fmt.Fprint(w, "Does what azd can't do around a deployment.\n\nusage: go run ./infra/hooks COMMAND [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", c.name, c.synopsis)
	}
	fmt.Fprint(w, "\n  COMMAND -help shows its flags\n")
}
