package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A Function is one function.json.
type Function struct {
	Name    string // the directory's name
	Trigger Trigger
	Retry   *Retry
	// HTTPOutput is the name of the http output binding, "" without one.
	HTTPOutput string
}

func (f Function) place() string { return f.Name + "/" + functionFile }

const functionFile = "function.json"

var (
	functionName = regexp.MustCompile(`(?i)^[a-z][a-z0-9_\-]{0,127}$`)
	bindingName  = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9]{0,127}|\$return)$`)
)

// discover reads the function.json of every direct child of the script root.
func (a *App) discover(p *Problems) {
	entries, err := os.ReadDir(a.Root)
	if err != nil {
		p.addf(a.Root, "the script root can't be read: %v", err)
		return
	}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(a.Root, e.Name())); err != nil || !info.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(a.Root, e.Name(), functionFile))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		place := e.Name() + "/" + functionFile
		if err != nil {
			p.addf(place, "%v", err)
			continue
		}
		a.add(e.Name(), place, data, p)
	}
}

func (a *App) add(name, place string, data []byte, p *Problems) {
	if !functionName.MatchString(name) || strings.EqualFold(name, "host") {
		p.addf(place, "%q is no function name: a letter, then up to 127 letters, digits, _ or -; not \"host\"", name)
		return
	}
	if len(a.Host.Functions) > 0 && !slices.ContainsFunc(a.Host.Functions, func(n string) bool { return strings.EqualFold(n, name) }) {
		return
	}
	values := map[string]any{}
	if err := json.Unmarshal(data, &values); err != nil {
		p.addf(place, "not a JSON object: %v", err)
		return
	}
	s := newSection(place, values, p)
	if s.boolean("disabled", false) || a.switchedOff(name) {
		a.Disabled = append(a.Disabled, name)
		return
	}
	if file := s.text("scriptFile", ""); file != "" {
		if _, err := os.Stat(filepath.Join(a.Root, name, file)); err != nil {
			s.addf("scriptFile", "%q doesn't exist; leave it out, a custom handler needs none", file)
		}
	}
	s.has("entryPoint")
	f := Function{Name: name, Retry: loadRetry(s, p)}
	if a.loadBindings(&f, s) {
		a.Functions = append(a.Functions, f)
	}
	for _, u := range s.unknown() {
		if !strings.HasSuffix(u, ".generatedBy") && !strings.HasSuffix(u, ".$schema") {
			a.Warnings = append(a.Warnings, u+" is not known and has no effect")
		}
	}
}

// switchedOff reports whether a setting disables a function: the name with dots,
// or with underscores where a variable of the environment can't have these.
func (a *App) switchedOff(name string) bool {
	for _, form := range []string{"AzureWebJobs.%s.Disabled", "AzureWebJobs_%s_Disabled"} {
		if off, _ := a.Settings.Lookup(fmt.Sprintf(form, name)); strings.EqualFold(off, "true") || off == "1" {
			return true
		}
	}
	return false
}

// loadBindings reads the bindings and reports whether there is one trigger that
// can be served.
func (a *App) loadBindings(f *Function, s *section) bool {
	list, _ := s.get("bindings")
	members, isArray := list.([]any)
	if !isArray || len(members) == 0 {
		s.addf("bindings", "must be an array with at least a trigger")
		return false
	}
	before := len(*s.problems)
	names := map[string]bool{}
	triggers := 0
	for i, m := range members {
		values, ok := m.(map[string]any)
		if !ok {
			s.addf("bindings", "entry %d must be an object", i)
			continue
		}
		b := newSection(fmt.Sprintf("%s.bindings[%d]", s.place, i), values, s.problems)
		name := b.text("name", "")
		if !bindingName.MatchString(name) {
			b.addf("name", "%q is no binding name: a letter, then up to 127 letters or digits, or $return", name)
		}
		if names[strings.ToLower(name)] {
			b.addf("name", "%q is used twice", name)
		}
		names[strings.ToLower(name)] = true
		if a.loadBinding(f, name, b) {
			triggers++
		}
	}
	if triggers != 1 {
		s.addf("bindings", "want exactly one trigger, found %d", triggers)
	}
	return len(*s.problems) == before
}

// loadBinding reads one binding and reports whether it is a trigger.
func (a *App) loadBinding(f *Function, name string, b *section) (trigger bool) {
	kind := b.text("type", "")
	direction := strings.ToLower(b.text("direction", "in"))
	if strings.EqualFold(kind, "http") {
		if direction != "out" {
			b.addf("direction", "of an http binding must be \"out\"")
		}
		f.HTTPOutput = name
		return false
	}
	if direction != "in" && strings.HasSuffix(strings.ToLower(kind), "trigger") {
		b.addf("direction", "of a trigger must be \"in\"")
	}
	t := Trigger{Binding: name}
	load := triggers[strings.ToLower(kind)]
	if load == nil {
		b.addf("type", "%q is not served by this host; it serves httpTrigger, timerTrigger, eventHubTrigger, serviceBusTrigger and the output http", kind)
		return strings.HasSuffix(strings.ToLower(kind), "trigger")
	}
	load(&t, triggerSource{section: b, settings: a.Settings, function: f.Name})
	f.Trigger = t
	for _, u := range b.unknown() {
		a.Warnings = append(a.Warnings, u+" is not known and has no effect")
	}
	return true
}
