package config

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// App is everything that the files and settings of a function app say.
type App struct {
	Root      string // absolute script root
	Host      Host
	Settings  Settings
	Functions []Function // the enabled ones, by name
	Disabled  []string   // the names of functions that a setting switched off
	Warnings  []string   // what has no effect here, such as unknown fields
}

// Load reads the function app in root, with the app settings of the sources.
// The error is Problems.
func Load(root string, from Sources) (App, error) {
	var p Problems
	full, err := filepath.Abs(root)
	if err != nil {
		p.addf(root, "%v", err)
		return App{}, p
	}
	a := App{Root: full, Settings: loadSettings(full, from, &p)}
	var unknown []string
	a.Host, unknown = loadHost(full, a.Settings, &p)
	for _, name := range unknown {
		a.Warnings = append(a.Warnings, name+" is not known and has no effect")
	}
	a.checkRuntime(cmp.Or(from.File, localSettingsFile), &p)
	a.discover(&p)
	a.checkFunctions(&p)
	if len(p) > 0 {
		slices.Sort(p)
		return App{}, p
	}
	return a, nil
}

// checkRuntime wants the setting that the real host wants; file is where it can
// be.
func (a *App) checkRuntime(file string, p *Problems) {
	const name = "FUNCTIONS_WORKER_RUNTIME"
	runtime, ok := a.Settings.Lookup(name)
	switch {
	case !ok:
		p.addf(name, "the app setting is missing; set it to \"custom\" in Values of %s", file)
	case !strings.EqualFold(runtime, "custom"):
		p.addf(name, "is %q; this host runs custom handlers only, set it to \"custom\"", runtime)
	}
}

// checkFunctions holds the rules between functions, host.json and each other.
func (a *App) checkFunctions(p *Problems) {
	for _, name := range a.Host.Functions {
		known := slices.ContainsFunc(a.Functions, func(f Function) bool { return strings.EqualFold(f.Name, name) })
		disabled := slices.ContainsFunc(a.Disabled, func(d string) bool { return strings.EqualFold(d, name) })
		if !known && !disabled {
			a.Warnings = append(a.Warnings, fmt.Sprintf("%s.functions: there is no function %q; the other names count", hostFile, name))
		}
	}
	for i := range a.Functions {
		f := &a.Functions[i]
		if f.Retry == nil {
			f.Retry = a.Host.Retry
		}
		switch f.Trigger.Kind {
		case EventHub, ServiceBusKind:
			if !a.Host.HasBundle {
				p.addf(f.place(), "the trigger %s needs the extension bundle: add extensionBundle with id and version to %s", f.Trigger.Kind, hostFile)
			}
		}
		if f.Retry != nil && f.Trigger.Kind != EventHub && f.Trigger.Kind != TimerKind {
			a.Warnings = append(a.Warnings, fmt.Sprintf("%s: a retry policy has no effect on a %s", f.place(), f.Trigger.Kind))
			f.Retry = nil
		}
	}
}
