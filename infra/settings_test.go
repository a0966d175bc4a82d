package infra_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// readElsewhere are the settings that the handler's own table does not have,
// with who reads them. A * stands for a number.
var readElsewhere = map[string]string{
	"APPLICATIONINSIGHTS_CONNECTION_STRING":                    "the host: Microsoft Learn, App settings reference for Azure Functions",
	"APPLICATIONINSIGHTS_AUTHENTICATION_STRING":                "the host: Microsoft Learn, App settings reference for Azure Functions",
	"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT":                        "the host: Microsoft Learn, app settings reference for Azure Functions",
	"AzureWebJobsStorage":                                      "the host: Microsoft Learn, App settings reference for Azure Functions",
	"AzureWebJobsStorage__accountName":                         "the host: Microsoft Learn, Connecting to host storage with an identity",
	"AzureWebJobsStorage__blobServiceUri":                      "the host: Microsoft Learn, Connecting to host storage with an identity",
	"AzureWebJobsStorage__queueServiceUri":                     "the host: Microsoft Learn, Connecting to host storage with an identity",
	"AzureWebJobsStorage__tableServiceUri":                     "the host: Microsoft Learn, Connecting to host storage with an identity",
	"AzureWebJobsStorage__credential":                          "the host: Microsoft Learn, Common properties for identity-based connections",
	"AzureWebJobsStorage__clientId":                            "the host: Microsoft Learn, Common properties for identity-based connections",
	"AZURE_CLIENT_ID":                                          "azidentity's DefaultAzureCredential: Microsoft Learn, Credential chains in the Azure Identity library for Go",
	"FUNCTIONS_WORKER_RUNTIME":                                 "the host, locally: Microsoft Learn, App settings reference for Azure Functions",
	"OTEL_SERVICE_NAME":                                        "OpenTelemetry's SDK: OpenTelemetry, Environment Variable Specification",
	"OTEL_RESOURCE_ATTRIBUTES":                                 "OpenTelemetry's SDK: OpenTelemetry, Environment Variable Specification",
	"OTEL_TRACES_SAMPLER":                                      "the host since 4.1048: Azure/azure-functions-host, pull request 11568",
	"OTEL_TRACES_SAMPLER_ARG":                                  "the host since 4.1048: Azure/azure-functions-host, pull request 11568",
	"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT":                       "otlptracehttp: OpenTelemetry, OTLP Exporter Configuration",
	"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT":                      "otlpmetrichttp: OpenTelemetry, OTLP Exporter Configuration",
	"OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION": "otlpmetrichttp: OpenTelemetry, Metrics Exporter - OTLP",
}

var settingsChecks = []check{
	{"settings load", settingsLoad},
	{"settings are read", settingsAreRead},
	{"settings of another app", settingsOfAnotherApp},
	{"settings of the scenario", settingsOfTheScenario},
	{"settings of the identity", settingsOfTheIdentity},
	{"settings of the host", settingsOfTheHost},
	{"local settings", localSettings},
}

// handlerSettings loads an app's settings as its handler does, beside what the
// platform sets, and returns the names that it asked for.
func handlerSettings(values map[string]string) (settings.Settings, map[string]bool, error) {
	asked := map[string]bool{}
	s, err := settings.Load(chosen.Business(), func(name string) string {
		asked[name] = true
		switch name {
		case "FUNCTIONS_CUSTOMHANDLER_PORT":
			return "8080"
		case "WEBSITE_HOSTNAME":
			return "localhost:7071"
		}
		return inAzure(name, values[name])
	})
	return s, asked, err
}

// fromDeployment are examples of what only the deployment knows, by the end of
// a symbol. $name is the resource's.
var fromDeployment = []struct{ end, example string }{
	{".properties.defaultHostName", "$name.azurewebsites.net"},
	{".properties.documentEndpoint", "https://$name.documents.azure.com:443/"},
	{".properties.primaryEndpoints.blob", "https://$name.blob.core.windows.net/"},
	{".properties.primaryEndpoints.queue", "https://$name.queue.core.windows.net/"},
	{".properties.primaryEndpoints.table", "https://$name.table.core.windows.net/"},
	{".properties.vaultUri", "https://$name.vault.azure.net/"},
	{".properties.ConnectionString", "InstrumentationKey=$id;IngestionEndpoint=https://$name.in.applicationinsights.azure.com/"},
	{".properties.logsIngestion.endpoint", "https://$name.westeurope-1.ingest.monitor.azure.com"},
	{".properties.metricsIngestion.endpoint", "https://$name.westeurope-1.metrics.ingest.monitor.azure.com"},
	{".properties.immutableId", "dcr-0123456789abcdef0123456789abcdef"},
	{".properties.clientId", "$id"},
	{".properties.principalId", "$id"},
}

var symbols = regexp.MustCompile(`<[^<>]+>`)

// inAzure is a setting's value with examples of what only the deployment knows;
// a reference to a secret is replaced by a secret as the platform does it. A
// symbol without an example stays.
func inAzure(name, value string) string {
	if strings.HasPrefix(value, "@Microsoft.KeyVault(SecretUri=") && strings.HasSuffix(value, ")") {
		if strings.HasPrefix(name, "NOTIFY_") {
			return signingKey
		}
		if name == "ID_KEYS" {
			return idKey
		}
		return "secret"
	}
	return symbols.ReplaceAllStringFunc(value, func(symbol string) string {
		for _, known := range fromDeployment {
			if of, ok := strings.CutSuffix(symbol[1:len(symbol)-1], known.end); ok {
				name := of[strings.LastIndex(of, "/")+1:]
				return strings.NewReplacer("$name", name, "$id", uuid.NewSHA1(uuid.NameSpaceURL, []byte(of)).String()).Replace(known.example)
			}
		}
		return symbol
	})
}

// settingsLoad: the handler starts with them, and no rule between them is
// broken.
func settingsLoad(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		if _, _, err := handlerSettings(a.settings); err != nil {
			out = append(out, fmt.Sprintf("the handler of %s refuses its settings: %v", a.name, err))
		}
	}
	return out
}

// settingsAreRead: nothing is set that nobody reads.
func settingsAreRead(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		_, asked, _ := handlerSettings(a.settings)
		for _, name := range slices.Sorted(maps.Keys(a.settings)) {
			if !asked[name] && readElsewhere[numberless(name)] == "" {
				out = append(out, fmt.Sprintf("%s sets %s, which nobody reads", a.name, name))
			}
		}
	}
	return out
}

var number = regexp.MustCompile(`\d+$`)

func numberless(name string) string { return number.ReplaceAllString(name, "*") }

// settingsOfAnotherApp: an app has no address of what its functions don't use.
func settingsOfAnotherApp(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		uses := w.usesOf(a)
		unused := map[string]bool{
			"EventHubs__": uses.hub == 0, "ServiceBus__": len(uses.sends)+len(uses.receives) == 0,
			"BACKEND_": !uses.callsBackends, "NOTIFY_": !uses.notifies, "SMTP_": !uses.notifies, "MAIL_": !uses.notifies,
			"FLEET_": !slices.Contains(uses.containers, "drones"), "FLIGHT_": !slices.Contains(uses.containers, "drones"),
			"RATE_LIMIT_": !uses.limited,
		}
		for _, name := range slices.Sorted(maps.Keys(a.settings)) {
			for prefix, wrong := range unused {
				if wrong && strings.HasPrefix(name, prefix) {
					out = append(out, fmt.Sprintf("%s sets %s, and none of its functions uses that", a.name, name))
				}
			}
		}
	}
	return out
}

// settingsOfTheScenario: what must differ from a default is set.
func settingsOfTheScenario(w *world) []string {
	var out []string
	want := func(a *app, name, value string) {
		if a.settings[name] != value {
			out = append(out, fmt.Sprintf("%s sets %s to %q; it must be %q", a.name, name, a.settings[name], value))
		}
	}
	workflow, backends := w.app("workflow"), w.app("backends")
	for _, a := range w.sorted() {
		want(a, "AUTH_MODE", w.scenario.auth)
		want(a, "OTEL_SERVICE_NAME", a.name)
		// Each has a setting of its own, since neither knows the other's values.
		want(a, "OTEL_TRACES_SAMPLER", "microsoft.fixed_percentage")
		want(a, "OTEL_TRACES_SAMPLER_ARG", a.settings["TRACE_RATIO"])
	}
	host := "https://" + property(&backends.site, "properties.defaultHostName")
	if w.scenario.stamp {
		host = backendsURL
		want(workflow, "SHARD", "2")
		want(workflow, "ID_KEYS", "") // a secret of who mints and verifies
	} else {
		want(workflow, "SHARD", "")
	}
	for _, step := range []string{"ACCOUNT", "PACKAGE", "TRANSPORTATION", "DRONE", "DELIVERY"} {
		want(workflow, "BACKEND_"+step+"_URL", host+"/api")
	}
	if w.scenario.auth == "entra" {
		want(workflow, "AUTH_AUDIENCE", "api://"+workflowApp+","+workflowApp)
		if !w.scenario.stamp {
			want(backends, "AUTH_AUDIENCE", "api://"+backendsApp+","+backendsApp)
		}
		want(workflow, "BACKEND_AUDIENCE", "api://"+backendsApp)
		want(workflow, "BACKEND_CLIENT_ID", w.clientID(workflow))
		for _, a := range w.sorted() {
			want(a, "AUTH_ISSUER", "https://login.microsoftonline.com/00000000-0000-4000-8000-000000000002/v2.0")
		}
	} else if workflow.settings["BACKEND_KEY"] == "" {
		out = append(out, "workflow sets no BACKEND_KEY, and the backends want a function key")
	}
	if w.scenario.notify {
		want(workflow, "NOTIFY_URL", notifyURL)
		want(workflow, "SMTP_URL", mailServer)
		want(workflow, "MAIL_FROM", "noreply@example.com")
	} else {
		want(workflow, "NOTIFY_URL", "")
		want(workflow, "SMTP_URL", "")
	}
	for _, a := range w.sorted() {
		for name, there := range map[string]bool{
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": w.scenario.otlp, "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": w.scenario.otlp,
			"OTLP_AUTH_SCOPE": w.scenario.otlp, "OTLP_CLIENT_ID": w.scenario.otlp,
		} {
			if (a.settings[name] != "") != there {
				out = append(out, fmt.Sprintf("%s sets %s to %q, and otlpIngestion is %v", a.name, name, a.settings[name], there))
			}
		}
	}
	return out
}

// settingsOfTheIdentity: every client id is that of the app's own identity, and
// every connection goes by it.
func settingsOfTheIdentity(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		own := w.clientID(a)
		for _, name := range slices.Sorted(maps.Keys(a.settings)) {
			value := a.settings[name]
			isID := strings.HasSuffix(name, "__clientId") || strings.HasSuffix(name, "_CLIENT_ID")
			if isID && value != own {
				out = append(out, fmt.Sprintf("%s sets %s to %s, not to its identity %s", a.name, name, value, own))
			}
			if connection, ok := strings.CutSuffix(name, "__credential"); ok && (value != "managedidentity" || a.settings[connection+"__clientId"] == "") {
				out = append(out, fmt.Sprintf("%s does not name its identity for %s: %s is %q", a.name, connection, name, value))
			}
			if strings.HasSuffix(name, "__fullyQualifiedNamespace") && strings.Contains(value, "://") {
				out = append(out, fmt.Sprintf("%s sets %s to a URL", a.name, name))
			}
		}
		if want := "ClientId=" + own + ";Authorization=AAD"; a.settings["APPLICATIONINSIGHTS_AUTHENTICATION_STRING"] != want {
			out = append(out, fmt.Sprintf("%s sends telemetry as %q, not as %q", a.name, a.settings["APPLICATIONINSIGHTS_AUTHENTICATION_STRING"], want))
		}
	}
	return out
}

// settingsOfTheHost: what the host reads on Flex Consumption, and nothing that
// it refuses there (Microsoft Learn, "Flex Consumption plan deprecations").
func settingsOfTheHost(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		for _, name := range []string{"APPLICATIONINSIGHTS_CONNECTION_STRING", "AZURE_CLIENT_ID", "AzureWebJobsStorage__credential", "AzureWebJobsStorage__clientId"} {
			if a.settings[name] == "" {
				out = append(out, a.name+" sets no "+name)
			}
		}
		byName := a.settings["AzureWebJobsStorage__accountName"] != ""
		byURL := a.settings["AzureWebJobsStorage__blobServiceUri"] != "" && a.settings["AzureWebJobsStorage__queueServiceUri"] != "" &&
			a.settings["AzureWebJobsStorage__tableServiceUri"] != ""
		if byName == byURL {
			out = append(out, a.name+" must name its storage once: by AzureWebJobsStorage__accountName or by the three URIs")
		}
		for _, name := range []string{
			"AzureWebJobsStorage", "FUNCTIONS_WORKER_RUNTIME", "FUNCTIONS_EXTENSION_VERSION", "WEBSITE_RUN_FROM_PACKAGE", "SCM_DO_BUILD_DURING_DEPLOYMENT",
			"WEBSITE_CONTENTAZUREFILECONNECTIONSTRING", "WEBSITE_CONTENTSHARE", "ENABLE_ORYX_BUILD", "WEBSITE_VNET_ROUTE_ALL",
		} {
			if _, set := a.settings[name]; set {
				out = append(out, fmt.Sprintf("%s sets %s, which has no place on Flex Consumption", a.name, name))
			}
		}
	}
	return out
}

// localSettings: local.settings.json has what the apps need here, and nothing
// that nobody reads.
func localSettings(w *world) []string {
	var out []string
	_, asked, err := handlerSettings(w.local)
	if err != nil {
		out = append(out, fmt.Sprintf("the handler refuses local.settings.json: %v", err))
	}
	for _, name := range slices.Sorted(maps.Keys(w.local)) {
		if !asked[name] && readElsewhere[numberless(name)] == "" {
			out = append(out, fmt.Sprintf("local.settings.json sets %s, which nobody reads", name))
		}
	}
	for _, name := range []string{"FUNCTIONS_WORKER_RUNTIME", "AzureWebJobsStorage"} {
		if w.local[name] == "" {
			out = append(out, "local.settings.json sets no "+name)
		}
	}
	return append(out, w.unresolved("local.settings.json", slices.Sorted(maps.Keys(w.functions)), w.local)...)
}

// sorted are the apps by name.
func (w *world) sorted() []*app {
	var out []*app
	for _, name := range slices.Sorted(maps.Keys(w.apps)) {
		out = append(out, w.apps[name])
	}
	return out
}

// app returns an app by its service's name; one that isn't there is empty.
func (w *world) app(name string) *app {
	if a := w.apps[name]; a != nil {
		return a
	}
	return &app{name: name}
}
