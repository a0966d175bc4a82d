// Command local runs the whole system on one machine: emulators of Event Hubs,
// Service Bus and Cosmos DB, and a Functions host that runs the staged app.
//
// Each subcommand has a file of the same name.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

// Exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitInterrupted = 130 // before the work was done; to end serve is no interruption
)

// console is where a command reads its arguments and writes.
type console struct {
	args        []string
	out, errOut io.Writer
}

// command is one subcommand.
type command struct {
	name, synopsis string
	run            func(ctx context.Context, c console) error
}

func commands() []command {
	return []command{
		{"serve", "build the app and serve it until interrupted (the default)", serve},
		{"demo", "serve, send sample requests, show their progress and a summary", demo},
		{"chaos", "prove the promises while everything breaks", runChaos},
		{"load", "send requests at planned rates and measure what clients see", runLoad},
		{"simulate", "follow a day's requests through shards in Azure, by the documented limits", runSimulate},
		{"bench", "measure the system beside bare baselines on the same machine", runBench},
		{"service", "play a service that isn't ours; serve starts it", runService},
		{"baseline", "serve one part of a baseline; bench starts it", runBaseline},
		{"emulators", "serve only Event Hubs, Service Bus and Cosmos DB", emulators},
		{"host", "run only the Functions host, on a staged app", runHost},
		{"stage", "build the folder that the Functions host runs", stageApp},
		{"generate", "write the files that follow from the business: functions and infra/business.json", runGenerate},
		{"drill", "make a trouble in what serve runs, for operators to practise; alone: list the troubles", runDrill},
		{"ops", "inspect and mend transactions and the quarantine of a running app", runOps},
	}
}

// usageError is a mistake in the words of the call.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	ctx = endWithParent(ctx)
	held := make([]byte, ballast)
	code := run(ctx, console{args: os.Args[1:], out: os.Stdout, errOut: os.Stderr})
	runtime.KeepAlive(held)
	os.Exit(code)
}

// run carries out one call and returns its exit code.
func run(ctx context.Context, c console) int {
	err := dispatch(ctx, c)
	var usage *usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(c.errOut, "local: %s\n", usage.text)
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(c.errOut, "local: interrupted")
		return exitInterrupted
	default:
		fmt.Fprintf(c.errOut, "local: %v\n", err)
		return exitError
	}
}

func dispatch(ctx context.Context, c console) error {
	name := "serve"
	if len(c.args) > 0 && (len(c.args[0]) == 0 || c.args[0][0] != '-') {
		name, c.args = c.args[0], c.args[1:]
	} else if len(c.args) > 0 {
		switch c.args[0] {
		case "-h", "-help", "--help":
			return usage(c.out)
		case "-version", "--version":
			return version(c.out)
		}
	}
	switch name {
	case "help":
		return usage(c.out)
	case "version":
		return version(c.out)
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd.run(ctx, c)
		}
	}
	if err := usage(c.errOut); err != nil {
		return err
	}
	return &usageError{fmt.Sprintf("unknown command %q", name)}
}
