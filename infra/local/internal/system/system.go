// Package system is the local runtime as one value: the emulators, and one or
// more instances of the Functions host that run the staged app against them.
// The command line and the end-to-end tests start the same value.
//
// Reading order: system.go (all of it), emulators.go, elsewhere.go (services
// that aren't ours), instance.go and shift.go (a host, and the one that takes
// its place), split.go (two apps, as in Azure), acts.go (faults of hosts),
// admin.go and follow.go (their plan, for several processes), profile.go and
// recovery.go (how long recovery takes).
package system

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Config says what to run.
type Config struct {
	App       string // the staged folder
	Addresses Addresses
	// Data is the folder that keeps the emulators' state; "" keeps none.
	Data string
	// Settings win over the environment, the profile and the local settings file.
	Settings map[string]string
	// SettingsFile is read instead of the staged local.settings.json. A connection
	// that it has to another place than the emulators' holds: the app uses the
	// service there. The emulators are started in any case, since the hosts keep
	// their own state there. "" is the staged file, whose connections never count.
	SettingsFile string
	// Split runs the backends in an app of their own, as in Azure.
	Split bool
	// Partitions is how many the hub has, as EmulatorsConfig has it.
	Partitions int
	// Shards is how many there are, 1 to MaxShards; 0 is one. Mapped is how many of
	// them are put into the map.
	Shards, Mapped int
	// Profile is the choice of times; the zero value changes nothing.
	Profile Profile
	// Faults breaks things on purpose, as its plan says at the time, and is
	// served by an admin endpoint. Nil breaks nothing, and serves nothing.
	Faults *fault.Injector
	// Crashes kills handlers at their effects. Nil kills none.
	Crashes *effect.Watch
	// Admin is the address of the admin endpoint, port 0 for a free one; only
	// loopback addresses are allowed.
	Admin string
	// Instances is how many instances of the app share the acts of the plan,
	// this one, those of the shards, and those in processes of their own. 0 is one.
	Instances  int
	Logger     *slog.Logger
	HandlerLog func(line string, stderr bool)
	Notice     func(string)
	// EndpointsFile is written when everything serves; "" writes none.
	EndpointsFile string
}

// System is a running system. Close must be called.
type System struct {
	Emulators *Emulators
	Instance  *Instance
	Backends  *Instance      // nil without Split
	stamps    []*Instance    // of the second shard, and further ones
	stopped   chan *Instance // of the stamps
	admin     *admin         // nil without Faults
	endpoints Endpoints
	elsewhere map[string]string
	set       map[string]string
	app       settings.Settings
	recovery  Recovery
	acts      acts // on the emulators
	cancel    context.CancelFunc
}

// Start starts everything and returns when the app serves.
func Start(ctx context.Context, c Config) (*System, error) {
	env, err := newEnvironment(c.App, c.SettingsFile, c.Settings)
	if err != nil {
		return nil, err
	}
	s := &System{}
	if s.app, err = env.under(c.Profile).settings(); err != nil {
		return nil, err
	}
	s.Emulators, err = StartEmulators(ctx, EmulatorsConfig{
		Addresses: c.Addresses, App: s.app, Faults: c.Faults, Crashes: c.Crashes, Data: c.Data, Partitions: c.Partitions, Shards: c.Shards, Logger: c.Logger, Notice: c.Notice,
	})
	if err != nil {
		return nil, err
	}
	err = during(ctx, s.Emulators.Wait, func(ctx context.Context) error { return s.startApp(ctx, c, env) })
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// startApp starts what stands on the emulators.
func (s *System) startApp(ctx context.Context, c Config, env environment) error {
	var err error
	s.endpoints = s.Emulators.Endpoints()
	if s.app.Auth.Mode != settings.AuthOff {
		s.endpoints.MasterKey = NewMasterKey()
	}
	if c.Faults != nil {
		if s.admin, err = startAdmin(c.Admin, c.Faults, s.Emulators.Broker, c.Logger); err != nil {
			return err
		}
		s.endpoints.Admin = s.admin.url()
	}
	if env.get(idKeysSetting) == "" {
		keys, err := s.Emulators.data.idKeys()
		if err != nil {
			return err
		}
		env.set[idKeysSetting] = keys
	}
	if c.SettingsFile != "" {
		s.elsewhere = env.elsewhere(s.endpoints)
	}
	s.set = maps.Clone(env.set)
	for name, connection := range s.endpoints.Settings() {
		if _, ok := s.elsewhere[name]; !ok {
			s.set[name] = connection
		}
	}
	if s.recovery, err = c.Profile.Recovery(c.App, c.SettingsFile, s.set); err != nil {
		return err
	}
	app := InstanceConfig{
		Name: "instance 1", App: c.App, HTTP: c.Addresses.HTTP, OpenToNetwork: c.Addresses.OpenToNetwork, MasterKey: s.endpoints.MasterKey, Settings: s.set, SettingsFile: c.SettingsFile, State: s.endpoints.CosmosDB,
		Profile: c.Profile, Faults: c.Faults, Crashes: c.Crashes, Instances: c.Instances,
		Logger: c.Logger, HandlerLog: c.HandlerLog, Notice: c.Notice,
	}
	if c.Split {
		if err := s.startBackends(ctx, app, env); err != nil {
			return err
		}
	}
	if s.Instance, err = StartInstance(ctx, app); err != nil {
		return err
	}
	s.endpoints.HTTP = s.Instance.Address()
	if err := s.startStamps(ctx, app, c.Shards, c.Mapped); err != nil {
		return err
	}
	if c.Faults != nil {
		// The acts outlive the call that starts them: Close ends them.
		var running context.Context
		running, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
		s.acts.start(running, c.Faults, 1, doings{fault.EventHubsRecreated: s.recreateHub}, c.Logger)
	}
	if c.EndpointsFile == "" {
		return nil
	}
	return s.endpoints.Write(c.EndpointsFile)
}

// Endpoints returns what the system serves.
func (s *System) Endpoints() Endpoints { return s.endpoints }

// Elsewhere returns where the settings file has services that are none of the
// system's own, by the name of their connection.
func (s *System) Elsewhere() map[string]string { return maps.Clone(s.elsewhere) }

// Settings returns what wins over the environment and the local settings file in
// the instances of the app, and is to win in further ones.
func (s *System) Settings() map[string]string { return maps.Clone(s.set) }

// AppSettings returns the app's settings, as its handler reads them, but for the
// addresses that only this system knows.
func (s *System) AppSettings() settings.Settings { return s.app }

// Recovery returns how long the system takes at most to get over the last fault.
func (s *System) Recovery() Recovery { return s.recovery }

// Wait returns nil when ctx ends, and an error when a part stops by itself. See
// Emulators.Wait for the store of the state.
func (s *System) Wait(ctx context.Context) (err error) {
	select {
	case <-ctx.Done():
	case <-s.Emulators.data.failed():
	case err = <-s.Emulators.failed:
	case <-s.Instance.Finished():
		err = fmt.Errorf("%s has stopped: %w", s.Instance.c.Name, cmp.Or(s.Instance.err, errStopped))
	case <-s.backendsFinished():
		err = fmt.Errorf("%s has stopped: %w", s.Backends.c.Name, cmp.Or(s.Backends.err, errStopped))
	case i := <-s.stopped:
		err = fmt.Errorf("%s has stopped: %w", i.c.Name, cmp.Or(i.err, errStopped))
	}
	return cmp.Or(s.Emulators.data.broken(), err)
}

// During does something that needs the system. It ends do's context, and returns
// what Wait would, when a part stops by itself on the way, such as a store that
// can't write: to wait for answers would only hide it.
func (s *System) During(ctx context.Context, do func(context.Context) error) error {
	return during(ctx, s.Wait, do)
}

// during does something until wait returns an error, and gives that one then.
func during(ctx context.Context, wait, do func(context.Context) error) error {
	ctx, end := context.WithCancel(ctx)
	var stopped error
	var watch sync.WaitGroup
	watch.Go(func() {
		if stopped = wait(ctx); stopped != nil {
			end()
		}
	})
	err := do(ctx)
	end()
	watch.Wait()
	if stopped != nil {
		return stopped
	}
	return err
}

// Broken reports whether the store of the state has failed. What runs can't come
// to an orderly end then: all that it would still do fails, and is tried again.
func (s *System) Broken() bool { return s.Emulators.data.isBroken() }

// Close stops the hosts with their handlers, then the emulators, and waits for
// all. A system that is Broken is left as it is: it ends with the process, as in
// a power cut.
func (s *System) Close() error {
	if s.Broken() {
		return nil // which Wait has told
	}
	var errs []error
	if s.cancel != nil {
		s.cancel()
		s.acts.wait()
	}
	if s.admin != nil {
		errs = append(errs, s.admin.close())
	}
	for _, i := range s.instances() {
		errs = append(errs, i.Close())
	}
	return errors.Join(append(errs, s.Emulators.Close())...)
}
