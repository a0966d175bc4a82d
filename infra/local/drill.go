package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/drill"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// runDrill makes a trouble in the system that serve runs in this folder, or lists the
// troubles that there are.
func runDrill(ctx context.Context, c console) error {
	name := ""
	if len(c.args) > 0 && !strings.HasPrefix(c.args[0], "-") {
		name, c.args = c.args[0], c.args[1:]
	}
	flags := newFlags("drill")
	backend := flags.String("backend", "", "`name` of the backend that is in trouble (default: the second one)")
	auto := flags.Bool("auto", false, "wait for nobody: mend it when it is named, and do the operator's act")
	asJSON := flags.Bool("json", false, "write one JSON object a line, the result last")
	if err := parse(c, flags, drillUsage); err != nil {
		return err
	}
	at, err := placeOf(chosen.Business(), *backend)
	if err != nil {
		return err
	}
	d := newDisplay(c.out, *asJSON)
	if name == "" {
		for _, one := range drill.Drills(at, time.Now()) {
			needs := ""
			if one.Needs != "" {
				needs = "; needs " + one.Needs
			}
			d.note("%-18s %s%s", one.Name, one.Trouble, needs)
		}
		return nil
	}
	if !slices.ContainsFunc(drill.Drills(at, time.Now()), func(one drill.Drill) bool { return one.Name == name }) {
		return &usageError{fmt.Sprintf("drill: there is no drill %q; drill alone lists them", name)}
	}
	served, err := endpointsHere("none: a drill is for what runs here")
	if err != nil {
		return opsError(err)
	}
	o := drill.Options{Say: d.note}
	if !*auto {
		o.Ready = enter
	}
	result, err := drillAt(ctx, served, at, name, o)
	if err != nil {
		return opsError(err)
	}
	if *asJSON {
		d.object(result)
	}
	return nil
}

const drillUsage = `usage: go run ./infra/local drill [NAME] [flags]

Makes a trouble in the system that serve runs in this folder, with requests of its own where the
trouble needs some, and tells when the status names it, and when it no longer does. Without a
name it lists the drills. docs/operations.md has a table of them.

`

// placeOf is a backend of the business, whose step has its name; "" is the second one,
// which is called in the middle of a transaction.
func placeOf(b business.Business, backend string) (drill.Place, error) {
	if backend == "" {
		backend = b.Backends[min(1, len(b.Backends)-1)].Name
	}
	i := slices.IndexFunc(b.Backends, func(one business.Backend) bool { return one.Name == backend })
	if i < 0 {
		var names []string
		for _, one := range b.Backends {
			names = append(names, one.Name)
		}
		return drill.Place{}, &usageError{fmt.Sprintf("drill: -backend %q: use one of %s", backend, strings.Join(names, ", "))}
	}
	at := drill.Place{Backend: backend}
	for _, f := range b.Backends[i].Functions {
		if !f.Operators {
			at.Functions = append(at.Functions, f.Name)
		}
	}
	return at, nil
}

// drillAt carries out a drill in a system that is served.
func drillAt(ctx context.Context, served system.Endpoints, at drill.Place, name string, o drill.Options) (result drill.Result, err error) {
	if served.HTTP == "" || served.Admin == "" {
		return result, fmt.Errorf("%w in this folder but emulators", ops.ErrNotServed)
	}
	t := chosentrial.Trial()
	if t == nil {
		return result, errors.New("the business has no trial that requests could be drawn from")
	}
	front, err := ops.NewClient("http://"+served.HTTP, ops.Secret{})
	if err != nil {
		return result, err
	}
	apps := ops.NewApps(front, ops.Secret{})
	defer apps.Close()
	view, err := front.Shards(ctx)
	if err != nil {
		return result, err
	}
	hub := "requests"
	if view.Map != nil {
		for _, s := range view.Map.Shards {
			switch s.Number {
			case shard.First:
				hub = s.Endpoints.Hub
			case shard.First + 1:
				at.Database = s.Endpoints.Database
			}
		}
	}
	all := drill.Drills(at, time.Now())
	d := all[slices.IndexFunc(all, func(one drill.Drill) bool { return one.Name == name })]
	if d.Needs != "" && at.Database == "" {
		return result, fmt.Errorf("drill %s needs %s", name, d.Needs)
	}
	producer, err := messaging.OpenProducer(messaging.Connection{ConnectionString: served.EventHubs}, hub, messaging.Options{})
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, producer.Close(context.WithoutCancel(ctx))) }()
	clients := workload.NewClient(workload.ClientOptions{URL: "http://" + served.HTTP, Resource: chosen.Business().Resource, Connections: 8})
	defer clients.Close()
	return drill.Run(ctx, &drill.Served{
		Faults: served.Admin + "/faults", Apps: apps, Clients: clients, Kinds: t.Kinds, Hub: producer, By: userName(),
	}, d, o)
}

// enter waits until a line is entered.
func enter(ctx context.Context) error {
	entered := make(chan error, 1)
	go func() {
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		entered <- err
	}()
	select {
	case err := <-entered:
		if err != nil {
			return fmt.Errorf("nobody can press Enter (%w): use -auto", err)
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
