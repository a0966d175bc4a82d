package infra_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

var functionChecks = []check{
	{"functions of the apps", functionsOfTheApps},
	{"functions resolve", functionsResolve},
	{"functions find their entities", functionsFindTheirEntities},
	{"always ready instances", alwaysReady},
}

// disabledSetting switches a function off (Microsoft Learn, "How to disable
// functions in Azure Functions"); a list in host.json is for use on a developer's
// machine (the same, and "host.json reference", functions).
var disabledSetting = regexp.MustCompile(`^AzureWebJobs\.(.*)\.Disabled$`)

// listOf are the functions that run in an app: those of the package that its
// settings don't switch off.
func (w *world) listOf(a *app) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w.functions)), func(name string) bool {
		return a.settings["AzureWebJobs."+name+".Disabled"] == "true"
	})
}

// functionsOfTheApps: every function runs in one app, Live and Ready in all; none of
// the front's and of the backends' in a stamp.
func functionsOfTheApps(w *world) []string {
	var out []string
	in := map[string][]string{}
	for _, a := range w.sorted() {
		for _, name := range slices.Sorted(maps.Keys(a.settings)) {
			if strings.HasPrefix(name, "AzureFunctionsJobHost__functions__") {
				out = append(out, fmt.Sprintf("%s sets %s: a list is for use on a developer's machine", a.name, name))
			}
			if m := disabledSetting.FindStringSubmatch(name); m != nil && w.functions[m[1]].trigger() == nil {
				out = append(out, fmt.Sprintf("%s switches off %s, and there is no functions/%[2]s", a.name, m[1]))
			}
		}
		for _, function := range w.listOf(a) {
			in[function] = append(in[function], a.name)
		}
	}
	for _, function := range slices.Sorted(maps.Keys(w.functions)) {
		want := 1
		switch {
		case function == "Live" || function == "Ready":
			want = len(w.apps)
		case w.scenario.stamp && (function == "Ingest" || function == "Progress" || ofBackends(function)):
			want = 0
		}
		if len(in[function]) != want {
			out = append(out, fmt.Sprintf("%s runs in %d apps %v, not in %d", function, len(in[function]), in[function], want))
		}
		if !slices.Contains(settings.FunctionNames(chosen.Business()), function) {
			out = append(out, fmt.Sprintf("functions/%s is not known to the handler", function))
		}
	}
	for _, function := range settings.FunctionNames(chosen.Business()) {
		if _, ok := w.functions[function]; !ok {
			out = append(out, fmt.Sprintf("the handler knows %s, and there is no functions/%[1]s", function))
		}
	}
	return out
}

func ofBackends(function string) bool {
	return slices.ContainsFunc(chosen.Business().Backends, func(b business.Backend) bool {
		return slices.ContainsFunc(b.Functions, func(f business.Function) bool { return f.Name == function })
	})
}

var reference = regexp.MustCompile(`%([^%]+)%`)

// functionsResolve: every %SETTING% of a function.json is set in both apps, since
// the host resolves those of disabled functions, too, before it leaves these out
// (FunctionIndexer of the WebJobs SDK makes the trigger's binding first); every
// connection is set where the function runs.
func functionsResolve(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		out = append(out, w.unresolved(a.name, w.listOf(a), a.settings)...)
	}
	return out
}

func (w *world) unresolved(where string, running []string, values map[string]string) []string {
	var out []string
	for _, function := range slices.Sorted(maps.Keys(w.functions)) {
		for _, binding := range w.functions[function].Bindings {
			for _, field := range slices.Sorted(maps.Keys(binding)) {
				text, _ := binding[field].(string)
				for _, m := range reference.FindAllStringSubmatch(text, -1) {
					if values[m[1]] == "" {
						out = append(out, fmt.Sprintf("%s has %s, whose %s names %%%s%%, and sets no %[4]s", where, function, field, m[1]))
					}
				}
			}
			connection, ok := binding["connection"].(string)
			if ok && slices.Contains(running, function) && values[connection] == "" && values[connection+"__fullyQualifiedNamespace"] == "" {
				out = append(out, fmt.Sprintf("%s runs %s, whose connection is %s, and sets neither %[3]s nor %[3]s__fullyQualifiedNamespace", where, function, connection))
			}
		}
	}
	return out
}

// functionsFindTheirEntities: what a trigger listens to is deployed, in the
// namespace that the connection names.
func functionsFindTheirEntities(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		for _, function := range w.listOf(a) {
			f := w.functions[function]
			text := func(field string) string {
				return reference.ReplaceAllStringFunc(f.text(field), func(m string) string { return a.settings[strings.Trim(m, "%")] })
			}
			namespace := strings.TrimSuffix(a.settings[f.text("connection")+"__fullyQualifiedNamespace"], ".servicebus.windows.net")
			var kind, name string
			switch f.text("type") {
			case "eventHubTrigger":
				kind, name = "Microsoft.EventHub/namespaces/eventhubs", text("eventHubName")
				if group := text("consumerGroup"); group != "$Default" {
					kind, name = kind+"/consumergroups", name+"/"+group
				}
			case "serviceBusTrigger":
				kind, name = "Microsoft.ServiceBus/namespaces/queues", strings.TrimSuffix(text("queueName"), "/$deadletterqueue")
			default:
				continue
			}
			if !slices.ContainsFunc(w.deployed.Of(kind), func(r bicep.Resource) bool { return r.Name == namespace+"/"+name }) {
				out = append(out, fmt.Sprintf("%s of %s listens to %s of %q, which is not deployed", function, a.name, name, namespace))
			}
		}
	}
	return out
}

// alwaysReady: instances are kept for functions and groups that there are
// (Microsoft Learn, "Azure Functions Flex Consumption plan hosting", always
// ready instances).
func alwaysReady(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		list, _ := a.site.At("properties.functionAppConfig.scaleAndConcurrency.alwaysReady").([]any)
		for _, item := range list {
			entry, _ := item.(map[string]any)
			name := bicep.Text(entry["name"])
			function, isFunction := strings.CutPrefix(name, "function:")
			switch {
			case name == "http" && w.scenario.stamp:
				out = append(out, a.name+" keeps instances for http, and requests go to the front")
			case !isFunction && name != "http":
				out = append(out, fmt.Sprintf("%s keeps instances for %q; there are http and function:NAME here", a.name, name))
			case isFunction && !slices.Contains(w.listOf(a), function):
				out = append(out, fmt.Sprintf("%s keeps instances for %s, which it does not run", a.name, function))
			case isFunction && w.functions[function].text("type") == "httpTrigger":
				out = append(out, fmt.Sprintf("%s keeps instances for %s, which belongs to the group http", a.name, function))
			}
		}
	}
	return out
}
