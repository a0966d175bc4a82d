// Package system is the local runtime as one value: the emulators, and one or
// more instances of the Functions host that run the staged app against them.
// The command line and the end-to-end tests start the same value.
//
// Reading order: system.go (all of it), emulators.go, instance.go and shift.go
// (a host, and the one that takes its place), acts.go (what is done to hosts on
// purpose), admin.go and follow.go (the plan of it, for several processes),
// profile.go and recovery.go (how long getting over it takes).
package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Config says what to run.
type Config struct {
	App       string // the staged folder
	Addresses Addresses
	// Data is the folder that keeps the emulators' state; "" keeps none.
	Data string
	// Settings win over the environment, the profile and local.settings.json.
	Settings map[string]string
	// Profile is the choice of times; the zero value changes nothing.
	Profile Profile
	// Faults breaks things on purpose, as its plan says at the time, and is
	// served by an admin endpoint. Nil breaks nothing, and serves nothing.
	Faults *fault.Injector
	// Admin is the address of the admin endpoint, port 0 for a free one; only
	// loopback addresses are allowed.
	Admin string
	// Instances is how many instances of the app share the acts of the plan,
	// this one and those in processes of their own. 0 is one.
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
	admin     *admin // nil without Faults
	endpoints Endpoints
	app       settings.Settings
	recovery  Recovery
}

// Start starts everything and returns when the app serves.
func Start(ctx context.Context, c Config) (*System, error) {
	env, err := newEnvironment(c.App, c.Settings)
	if err != nil {
		return nil, err
	}
	s := &System{}
	if s.app, err = env.under(c.Profile).settings(); err != nil {
		return nil, err
	}
	if s.recovery, err = c.Profile.Recovery(c.App, c.Settings); err != nil {
		return nil, err
	}
	s.Emulators, err = StartEmulators(ctx, EmulatorsConfig{
		Addresses: c.Addresses, App: s.app, Faults: c.Faults, Data: c.Data, Logger: c.Logger, Notice: c.Notice,
	})
	if err != nil {
		return nil, err
	}
	s.endpoints = s.Emulators.Endpoints()
	if c.Faults != nil {
		if s.admin, err = startAdmin(c.Admin, c.Faults, c.Logger); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.endpoints.Admin = s.admin.url()
	}
	set := maps.Clone(c.Settings)
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, s.endpoints.Settings())
	s.Instance, err = StartInstance(ctx, InstanceConfig{
		Name: "instance 1", App: c.App, HTTP: c.Addresses.HTTP, Settings: set, State: s.endpoints.CosmosDB,
		Profile: c.Profile, Faults: c.Faults, Instances: c.Instances,
		Logger: c.Logger, HandlerLog: c.HandlerLog, Notice: c.Notice,
	})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.endpoints.HTTP = s.Instance.Address()
	if c.EndpointsFile != "" {
		if err := s.endpoints.Write(c.EndpointsFile); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Endpoints returns what the system serves.
func (s *System) Endpoints() Endpoints { return s.endpoints }

// AppSettings returns the app's settings, as its handler reads them.
func (s *System) AppSettings() settings.Settings { return s.app }

// Recovery returns how long the system takes at most to get over the last fault.
func (s *System) Recovery() Recovery { return s.recovery }

// Wait returns nil when ctx ends, and an error when a part stops by itself.
func (s *System) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.Emulators.Failed():
		return err
	case <-s.Instance.Finished():
		return fmt.Errorf("%s has stopped", s.Instance.c.Name)
	}
}

// Close stops the host with its handler, then the emulators, and waits for all.
func (s *System) Close() error {
	var errs []error
	if s.admin != nil {
		errs = append(errs, s.admin.close())
	}
	if s.Instance != nil {
		errs = append(errs, s.Instance.Close())
	}
	return errors.Join(append(errs, s.Emulators.Close())...)
}
