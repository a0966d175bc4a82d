package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/baseline"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// baselineFlags say which server of a baseline to run. Each kind has flags of its
// own.
type baselineFlags struct {
	kind, endpoints, resource, to, steps, body, answers string
	mock                                                baseline.Mock
	calls                                               bool
	receiver                                            baseline.Receiver
}

func (f *baselineFlags) define(flags *flag.FlagSet) {
	flags.StringVar(&f.kind, "kind", "", "what to serve: mux, proxy, mock or loop; or receiver, which takes messages")
	flags.StringVar(&f.endpoints, "endpoints", "", "`file` that is written when it serves")
	flags.StringVar(&f.resource, "resource", "", "mux: what is posted to, below /api/")
	flags.StringVar(&f.to, "to", "", "proxy, loop, receiver: `URL` to call")
	flags.StringVar(&f.steps, "steps", "", "loop, receiver: the `steps` of a transaction, separated by commas")
	flags.StringVar(&f.body, "body", "{}", "loop: what each call carries")
	flags.DurationVar(&f.mock.Latency, "latency", 0, "mock: how long a call takes")
	flags.DurationVar(&f.mock.Tail, "tail", 0, "mock: how long a slow call takes")
	flags.Float64Var(&f.mock.Share, "share", 0, "mock: the part of the calls that take -tail, 0 to 1")
	flags.StringVar(&f.receiver.Connection, "connection", "", "receiver: connection `string` of Service Bus")
	flags.StringVar(&f.receiver.Queue, "queue", "", "receiver: `name` of the queue")
	flags.BoolVar(&f.receiver.Delete, "delete", false, "receiver: let messages be settled when they are sent (ReceiveAndDelete)")
	flags.BoolVar(&f.calls, "calls", false, "mock: remember the calls, and tell at /calls how many came again")
	flags.StringVar(&f.answers, "answers", "{}", "mock: what calls are answered with, as JSON by step")
}

// handler makes the server that is asked for.
func (f *baselineFlags) handler() (http.Handler, error) {
	switch f.kind {
	case "mux":
		return baseline.Mux(f.resource), nil
	case "proxy":
		return baseline.Proxy(f.to)
	case "mock":
		if f.calls {
			f.mock.Calls = baseline.NewCalls()
		}
		return f.mock, json.Unmarshal([]byte(f.answers), &f.mock.Answers)
	case "loop":
		return baseline.NewLoop(f.to, strings.Split(f.steps, ","), []byte(f.body)), nil
	case "receiver": // it serves nothing, and can be asked whether it is there
		return http.NotFoundHandler(), nil
	}
	return nil, fmt.Errorf("-kind %q: use mux, proxy, mock, loop or receiver", f.kind)
}

// runBaseline serves a part of a baseline until it is interrupted.
func runBaseline(ctx context.Context, c console) error {
	flags := newFlags("baseline")
	var f baselineFlags
	f.define(flags)
	if err := parse(c, flags); err != nil {
		return err
	}
	handler, err := f.handler()
	if err != nil {
		return &usageError{"baseline: " + err.Error()}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() }) // its error would say what Serve says
	defer stop()
	if f.endpoints != "" {
		if err := (system.Endpoints{HTTP: listener.Addr().String()}).Write(f.endpoints); err != nil {
			return errors.Join(err, listener.Close())
		}
	}
	newDisplay(c.out, false).note("%s serves http://%s", f.kind, listener.Addr())
	var received error
	var receiving sync.WaitGroup
	if f.receiver.To, f.receiver.Steps = f.to, strings.Split(f.steps, ","); f.kind == "receiver" {
		receiving.Go(func() {
			received = f.receiver.Run(ctx)
			server.Close() // its error would say what Serve says
		})
	}
	err = server.Serve(listener)
	receiving.Wait()
	if !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, received)
	}
	return received
}
