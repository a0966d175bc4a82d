// Package main is a custom handler with the policy of Microsoft's reference
// implementation of the same business (mspnp/microservices-reference-
// implementation and mspnp/aks-fabrikam-dronedelivery-workload), so that it can
// be run under the same faults as the app, and its losses counted by the same
// checks. It has the app's backends, messages and services; what differs is what
// it does when something goes wrong:
//
//   - Ingest answers 202 and then sends the event, from a bounded executor; a
//     send that fails is logged. An id or an idempotency key of the client's makes
//     no difference to what is sent. (IngestionImpl, @Async.)
//   - Relay copies a batch of events to the queue, and drops what it can't read.
//     There is no MessageID to tell a repeat by, no retry policy, and no other
//     checkpoint than the trigger's, which moves on whatever became of the batch.
//   - Schedule calls the services one after the other, and keeps nothing until
//     the end. The first failure, whatever it is, makes the message a dead letter.
//     Nothing is undone, and nobody reads the dead letters. Cancels and
//     reschedules are accepted and end there as well. (RequestProcessor.)
//
// The document that it writes of an outcome is there for the checks, as is the
// function that shows it: the original tells its clients nothing. By a service's
// definite no it is Rejected, which is kinder than the dead letter that the
// original makes of it. The backends know a repeated call, which the original's
// do not: its drone scheduler assigns another drone.
//
// Reading order: main.go, app.go (the wiring), ingest.go, relay.go, schedule.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

const (
	exitFatal, exitStopped = 1, 200           // as the app's
	grace                  = 10 * time.Second // for what is under way when the handler is to stop
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "the handler failed: %v\n", err)
		os.Exit(exitFatal)
	}
	os.Exit(exitStopped)
}

// run serves until ctx is done.
func run(ctx context.Context) error {
	s, err := settings.Load(os.Getenv)
	if err != nil {
		return fmt.Errorf("the settings are not usable:\n%w", err)
	}
	attempts, err := attemptsOf(os.Getenv("REFERENCE_ATTEMPTS"))
	if err != nil {
		return err
	}
	logger := telemetry.NewLogger(os.Stdout, s.LogLevel)
	app, err := newApp(ctx, s, attempts, logger)
	if err != nil {
		return err
	}
	server := customhandler.Server{Port: s.Port, Handler: app.handler, Logger: logger, Grace: grace, LocalOnly: true}
	err = server.Run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return errors.Join(err, app.close(closing))
}
