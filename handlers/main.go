// Package main is the custom handler: the one process that the Functions host
// starts for all functions of this app. Each function has its own small file,
// which decodes, calls a package of shared/ and encodes.
//
// Reading order: main.go, app.go (the wiring), adapters.go (the connections),
// services.go (what uses them), routes.go (the function table), then the
// functions. telemetry.go and its neighbours record what happens.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// The exit codes, as the host understands them. There is no 0: a host whose
// handler ended with 0 stays up and never starts another one.
const (
	exitFatal   = 1   // the host starts it again, and stops at the third time
	exitStopped = 200 // asked to stop: the host starts it again if it lives on
)

// grace is how long the requests under way have when the handler is asked to
// stop. The host itself never asks: it kills.
const grace = 25 * time.Second

// ballast is how much more garbage may lie about before the collector runs, in bytes.
// So little lives in a handler that it would run with every few transactions. Memory
// that nobody writes to is counted by the collector, but takes none of the machine's.
const ballast = 64 << 20

func main() {
	held := make([]byte, ballast)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) == 2 && os.Args[1] == "functions" {
		if err := printFunctions(os.Getenv, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(exitFatal)
		}
		return
	}
	code := run(ctx, os.Getenv, os.Stdout, os.Stderr)
	runtime.KeepAlive(held)
	os.Exit(code)
}

// run serves until ctx is done and returns the exit code. The log goes to
// stdout; stderr has nothing but what ended the handler, since the host takes
// each of its lines for an error and shows the last three with the crash.
func run(ctx context.Context, getenv func(string) string, stdout, stderr io.Writer) int {
	b := chosen.Business()
	s, err := settings.Load(b, getenv)
	if err != nil {
		fmt.Fprintf(stderr, "the settings are not usable:\n%v\n", err)
		return exitFatal
	}
	logger := telemetry.NewLogger(stdout, s.LogLevel)
	app, err := New(b, s, logger)
	if err != nil {
		fmt.Fprintf(stderr, "the handler can't start: %v\n", err)
		return exitFatal
	}
	if err := app.exposed(getenv); err != nil {
		fmt.Fprintf(stderr, "the handler can't start: %v\n", errors.Join(err, app.Close(ctx)))
		return exitFatal
	}
	if unknown := s.Functions.Unknown(b); len(unknown) > 0 {
		logger.Warn("the settings name unknown functions; the host ignores them", "functions", unknown)
	}
	server := customhandler.Server{Port: s.Port, Handler: app, Logger: logger, Grace: grace, LocalOnly: s.Auth.Mode == settings.AuthOff}
	logger.Info("starting", "port", s.Port, "functions", s.Functions.String(), "eventHubs", s.EventHubs, "serviceBus", s.ServiceBus, "cosmosDB", s.CosmosDB)
	err = server.Run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := errors.Join(err, app.Close(closing)); err != nil {
		fmt.Fprintf(stderr, "the handler failed: %v\n", err)
		return exitFatal
	}
	logger.Info("stopped")
	return exitStopped
}
