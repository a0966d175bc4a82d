package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

var flexChecks = []check{
	{"site properties", siteProperties}, {"configuration of a site", configurationOfASite}, {"update strategy", updateStrategy}, {"OTLP endpoints", otlpEndpoints},
}

// refusedByFlex are the properties that an app on Flex Consumption can't have:
// the deployment ends with status 400, "site configuration properties are
// invalid" (Microsoft Learn, "App settings reference for Azure Functions", Flex
// Consumption plan deprecations). Microsoft Learn lists some below properties
// and some below siteConfig; none is refused in one place alone.
var refusedByFlex = []string{
	"alwaysOn", "autoSwapSlotName", "containerSize", "dailyMemoryTimeQuota", "ftpsState", "functionAppScaleLimit", "functionsRuntimeScaleMonitoringEnabled",
	"healthCheckPath", "isReserved", "isXenon", "javaContainer", "javaContainerVersion", "javaVersion", "linuxFxVersion",
	"minimumElasticInstanceCount", "netFrameworkVersion", "nodeVersion", "numberOfWorkers", "phpVersion", "powerShellVersion", "preWarmedInstanceCount",
	"pythonVersion", "scmType", "use32BitWorkerProcess", "vnetBackupRestoreEnabled", "vnetContentShareEnabled", "vnetImagePullEnabled",
	"vnetRouteAllEnabled", "windowsFxVersion",
}

// siteProperties: no app has a property that its plan refuses.
func siteProperties(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		if web := w.deployed.Find(a.site.ID + "/config/web"); web != nil {
			out = append(out, fmt.Sprintf("%s has its configuration in config/web: name it in siteConfig, where it is checked", a.name))
		}
		for _, path := range []string{"properties", "properties.siteConfig"} {
			properties, _ := a.site.At(path).(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(properties)) {
				if slices.ContainsFunc(refusedByFlex, func(refused string) bool { return strings.EqualFold(refused, name) }) {
					out = append(out, fmt.Sprintf("%s sets %s.%s, which Flex Consumption refuses", a.name, path, name))
				}
			}
		}
	}
	return out
}

// configurationOfASite: what is deployed below a site is deployed one after the
// other, since a site takes one change of its configuration at a time and
// answers another one with 409.
func configurationOfASite(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		var children []string
		for _, r := range w.deployed.Resources {
			if r.Parent == a.site.ID {
				children = append(children, r.ID)
			}
		}
		for i, one := range children {
			for _, other := range children[i+1:] {
				if !w.comesAfter(one, other) && !w.comesAfter(other, one) {
					out = append(out, fmt.Sprintf("%s and %s are deployed side by side", short(one), short(other)))
				}
			}
		}
	}
	return out
}

// comesAfter reports whether a resource is deployed after another, because it
// depends on it, maybe through others.
func (w *world) comesAfter(id, other string) bool {
	r := w.deployed.Find(id)
	return r != nil && slices.ContainsFunc(r.DependsOn, func(on string) bool { return on == other || w.comesAfter(on, other) })
}

// updateStrategy: what is a preview, and not for production, is chosen by who
// wants it (Microsoft Learn, "Site update strategies in Flex Consumption").
func updateStrategy(w *world) []string {
	want := "Recreate"
	if strings.Contains(w.scenario.overrides, "RollingUpdate") {
		want = "RollingUpdate"
	}
	return w.hold([]mustBe{{"Microsoft.Web/sites", "properties.functionAppConfig.siteUpdateStrategy.type", want}}, "RollingUpdate is a preview")
}

// otlpEndpoints: metrics go to a stream that the data collection rule declares and
// lets flow (Microsoft Learn, "Ingest OTLP data into Azure Monitor by using OTel
// Collector"). What goes to another name is refused, and alerts see nothing. The
// stream of traces has a name of its own, by which the rule's three are meant.
func otlpEndpoints(w *world) []string {
	var out []string
	var streams []string
	for _, rule := range w.deployed.Of("Microsoft.Insights/dataCollectionRules") {
		flows, _ := rule.At("properties.dataFlows").([]any)
		for _, flow := range flows {
			streams = append(streams, texts(flow.(map[string]any)["streams"])...)
		}
	}
	for _, a := range w.sorted() {
		for _, signal := range []string{"METRICS", "TRACES"} {
			endpoint := a.settings["OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT"]
			if endpoint == "" {
				continue
			}
			_, rest, _ := strings.Cut(endpoint, "/streams/")
			stream, path, _ := strings.Cut(rest, "/")
			if known := stream == "Microsoft-OTLP-Traces" && signal == "TRACES" || slices.Contains(streams, stream); !known || path != "otlp/v1/"+strings.ToLower(signal) {
				out = append(out, fmt.Sprintf("%s sends %s to the stream %q by %q, and the rule has %v", a.name, strings.ToLower(signal), stream, path, streams))
			}
		}
	}
	return out
}
