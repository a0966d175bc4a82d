package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// functionsPrefix is the variable by which a host on a developer's machine runs
// some of the functions of an app only, one variable per function, counted from
// 0: an override of "functions" in host.json (Microsoft Learn, "host.json
// reference for Azure Functions", sections "functions" and "Override host.json
// values").
const functionsPrefix = "AzureFunctionsJobHost__functions__"

// disabledForms are the variables by which a function is switched off, in Azure
// and locally (Microsoft Learn, "How to disable functions in Azure Functions").
// Where a variable's name can't have a dot the platform writes an underscore.
var disabledForms = []string{"AzureWebJobs.%s.Disabled", "AzureWebJobs_%s_Disabled"}

// maxFunctions bounds the numbers that are looked for.
const maxFunctions = 100

// functionsOf are all functions of the app, with the connections that each needs: the
// system's own, and those that serve the backends.
func functionsOf(b business.Business) map[string][]string {
	all := maps.Clone(functions)
	for _, backend := range b.Backends {
		for _, f := range backend.Functions {
			all[f.Name] = []string{cosmosDB}
		}
	}
	return all
}

// functions are the system's own.
var functions = map[string][]string{
	"Ingest":                  {eventHubs, cosmosDB},
	"Progress":                {cosmosDB},
	"Relay":                   {eventHubs, serviceBus, cosmosDB},
	"Schedule":                {serviceBus, cosmosDB},
	"Supervise":               {serviceBus, cosmosDB},
	"Notify":                  {serviceBus, cosmosDB},
	"DeadLetterTransactions":  {serviceBus, cosmosDB},
	"DeadLetterCompensations": {serviceBus, cosmosDB},
	"DeadLetterNotifications": {serviceBus, cosmosDB},
	"Sweep":                   {eventHubs, serviceBus, cosmosDB},
	"Operations":              {eventHubs, serviceBus, cosmosDB},
	"Page":                    nil,
	"Live":                    nil,
	"Ready":                   nil,
}

// Functions are the functions that the host runs here; none stands for all. Names
// that no function has are among them: the host ignores them, and runs nothing if
// there are no others.
type Functions []string

// Has reports whether a function runs here.
func (f Functions) Has(name string) bool { return len(f) == 0 || slices.Contains(f, name) }

// Unknown returns the names that no function has.
func (f Functions) Unknown(b business.Business) []string {
	var names []string
	known := functionsOf(b)
	for _, name := range f {
		if _, known := known[name]; !known {
			names = append(names, name)
		}
	}
	return names
}

// String lists them.
func (f Functions) String() string {
	if len(f) == 0 {
		return "all"
	}
	return strings.Join(f, ", ")
}

// need reports whether one of these functions needs a connection.
func (f Functions) need(b business.Business, connection string) bool {
	for name, connections := range functionsOf(b) {
		if f.Has(name) && slices.Contains(connections, connection) {
			return true
		}
	}
	return false
}

// FunctionNames returns the names of all functions, sorted.
func FunctionNames(b business.Business) []string { return slices.Sorted(maps.Keys(functionsOf(b))) }

// loadFunctions reads which functions run as the host does: those that are
// listed, or all without a list, but those that are switched off. Numbers of the
// list may be missing, and its names are compared without their case. A name that
// no function has must not end the handler: three ends in a row stop the host.
func loadFunctions(b business.Business, getenv func(string) string) Functions {
	names := FunctionNames(b)
	list := listedFunctions(names, getenv)
	off := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !disabled(getenv, name) })
	if len(off) == 0 {
		return list
	}
	if len(list) == 0 {
		list = names
	}
	return slices.DeleteFunc(list, func(name string) bool { return slices.Contains(off, name) })
}

func disabled(getenv func(string) string, name string) bool {
	return slices.ContainsFunc(disabledForms, func(form string) bool {
		value := getenv(fmt.Sprintf(form, name))
		return value == "1" || strings.EqualFold(value, "true")
	})
}

func listedFunctions(names []string, getenv func(string) string) Functions {
	var list Functions
	for i := range maxFunctions {
		name := getenv(fmt.Sprint(functionsPrefix, i))
		if name == "" {
			continue
		}
		if at := slices.IndexFunc(names, func(known string) bool { return strings.EqualFold(known, name) }); at >= 0 {
			name = names[at]
		}
		list = append(list, name)
	}
	return list
}
