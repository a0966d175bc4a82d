// Package system is the local runtime as one value: the emulators, and one or
// more instances of the Functions host that run the staged app against them.
// The command line and the end-to-end tests start the same value.
package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"

	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Config says what to run.
type Config struct {
	App       string // the staged folder
	Addresses Addresses
	// Settings win over the environment and local.settings.json.
	Settings   map[string]string
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
	endpoints Endpoints
	app       settings.Settings
}

// Start starts everything and returns when the app serves.
func Start(ctx context.Context, c Config) (*System, error) {
	env, err := newEnvironment(c.App, c.Settings)
	if err != nil {
		return nil, err
	}
	appSettings, err := env.settings()
	if err != nil {
		return nil, err
	}
	s := &System{app: appSettings}
	if s.Emulators, err = StartEmulators(ctx, c.Addresses, appSettings, c.Logger); err != nil {
		return nil, err
	}
	s.endpoints = s.Emulators.Endpoints()
	set := maps.Clone(c.Settings)
	if set == nil {
		set = map[string]string{}
	}
	maps.Copy(set, s.endpoints.Settings())
	s.Instance, err = StartInstance(ctx, InstanceConfig{
		Name: "instance 1", App: c.App, HTTP: c.Addresses.HTTP, Settings: set, State: s.endpoints.CosmosDB,
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
	if s.Instance != nil {
		errs = append(errs, s.Instance.Close())
	}
	return errors.Join(append(errs, s.Emulators.Close())...)
}
