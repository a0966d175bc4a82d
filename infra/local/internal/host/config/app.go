package config

import (
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

// Load reads the function app in root. own and environ are app settings that
// win over local.settings.json; own wins over environ. The error is Problems.
func Load(root string, own map[string]string, environ []string) (App, error) {
	var p Problems
	full, err := filepath.Abs(root)
	if err != nil {
		p.addf(root, "%v", err)
		return App{}, p
	}
	a := App{Root: full, Settings: loadSettings(full, own, environ, &p)}
	var unknown []string
	a.Host, unknown = loadHost(full, a.Settings, &p)
	for _, name := range unknown {
		a.Warnings = append(a.Warnings, name+" is not known and has no effect")
	}
	a.checkRuntime(&p)
	a.discover(&p)
	a.checkFunctions(&p)
	if len(p) > 0 {
		slices.Sort(p)
		return App{}, p
	}
	return a, nil
}

func (a *App) checkRuntime(p *Problems) {
	const name = "FUNCTIONS_WORKER_RUNTIME"
	runtime, ok := a.Settings.Lookup(name)
	switch {
	case !ok:
		p.addf(name, "the app setting is missing; set it to \"custom\" in Values of %s", localSettingsFile)
	case !strings.EqualFold(runtime, "custom"):
		p.addf(name, "is %q; this host runs custom handlers only, set it to \"custom\"", runtime)
	}
}

// checkFunctions holds the rules between functions, host.json and each other.
func (a *App) checkFunctions(p *Problems) {
	for _, name := range a.Host.Functions {
		known := slices.ContainsFunc(a.Functions, func(f Function) bool { return strings.EqualFold(f.Name, name) })
		if !known && !slices.Contains(a.Disabled, name) {
			p.addf(hostFile+".functions", "there is no function %q", name)
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
