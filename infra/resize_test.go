package infra_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

// inPlace are the properties that Azure changes of what is deployed, by type, for
// each with where that is said. Everything else that two sizes differ in takes a
// second environment (docs/operations.md, "Change the size").
var inPlace = map[string]string{
	containerKind + " properties.options.autoscaleSettings.maxThroughput":                       "Microsoft Learn, Provision autoscale throughput: at any time, down to a tenth of the highest",
	"Microsoft.Web/sites properties.functionAppConfig.scaleAndConcurrency.maximumInstanceCount": "Microsoft Learn, Flex Consumption plan: scale",
	"Microsoft.Web/sites properties.functionAppConfig.scaleAndConcurrency.alwaysReady":          "Microsoft Learn, Flex Consumption plan: always ready",
	"Microsoft.Web/sites/config properties.FLIGHT_TIME_SCALE":                                   "an app setting",
	"Microsoft.ServiceBus/namespaces/queues properties.defaultMessageTimeToLive":                "Microsoft Learn, Service Bus message expiration: a queue's default can be changed",
	"Microsoft.ServiceBus/namespaces sku.capacity":                                              "Microsoft Learn, Service Bus Premium: messaging units can be changed",
	"Microsoft.EventHub/namespaces sku.capacity":                                                "Microsoft Learn, Scaling with Event Hubs: units can be changed",
	"Microsoft.Web/sites properties.functionAppConfig.scaleAndConcurrency.triggers":             "Microsoft Learn, Flex Consumption plan: HTTP concurrency",
	"Microsoft.Web/sites properties.functionAppConfig.siteUpdateStrategy.type":                  "Microsoft Learn, Site update strategies in Flex Consumption",
	"Microsoft.Web/sites/config properties.DOCUMENT_TTL_DAYS":                                   "an app setting",
	"Microsoft.Web/sites/config properties.LOG_LEVEL":                                           "an app setting",
	"Microsoft.Web/sites/config properties.TRACE_RATIO":                                         "an app setting",
	"Microsoft.Web/sites/config properties.OTEL_TRACES_SAMPLER_ARG":                             "an app setting",
}

// differences are the paths at which two values differ, as deep as both are
// objects.
func differences(path string, a, b any) []string {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		if reflect.DeepEqual(a, b) {
			return nil
		}
		return []string{path}
	}
	all := maps.Clone(x)
	maps.Copy(all, y)
	var out []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		out = append(out, differences(strings.TrimPrefix(path+"."+name, "."), x[name], y[name])...)
	}
	return out
}

// refusedChanges are the differences of two deployments that Azure does not make
// in place.
func refusedChanges(from, to *world) []string {
	var out []string
	byID := map[string]bicep.Resource{}
	for _, r := range to.deployed.Resources {
		byID[r.ID] = r
	}
	for _, r := range from.deployed.Resources {
		for _, path := range differences("", r.Body, byID[r.ID].Body) {
			if inPlace[r.Type+" "+path] == "" {
				out = append(out, fmt.Sprintf("%s %s", r.Type, path))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestChangeOfSize follows what docs/operations.md says of each change of size:
// between standard and large in place, from and to small not.
func TestChangeOfSize(t *testing.T) {
	sized := map[string]*world{}
	for _, size := range []string{"small", "standard", "large"} {
		w, err := load("..", scenario{size: size, auth: "entra", notify: true, otlp: true})
		if err != nil {
			t.Fatal(err)
		}
		sized[size] = w
	}
	for _, pair := range [][2]string{{"standard", "large"}, {"large", "standard"}} {
		if refused := refusedChanges(sized[pair[0]], sized[pair[1]]); len(refused) > 0 {
			t.Errorf("from %s to %s Azure refuses %s", pair[0], pair[1], strings.Join(refused, ", "))
		}
		// Down to a tenth of the highest that was ever set.
		for _, c := range sized[pair[0]].deployed.Of(containerKind) {
			const path = "properties.options.autoscaleSettings.maxThroughput"
			before, _ := c.At(path).(int64)
			after, _ := sized[pair[1]].deployed.Find(c.ID).At(path).(int64)
			if after*10 < before {
				t.Errorf("%s goes from %d to %d RU/s at once", c.Name, before, after)
			}
		}
	}
	want := []string{"Microsoft.EventHub/namespaces sku.name", "Microsoft.ServiceBus/namespaces sku.name", accountKind + " properties.capabilities"}
	for _, pair := range [][2]string{{"small", "standard"}, {"standard", "small"}} {
		refused := refusedChanges(sized[pair[0]], sized[pair[1]])
		for _, path := range want {
			if !slices.Contains(refused, path) {
				t.Errorf("from %s to %s Azure takes %s, and docs/operations.md says that it doesn't; refused: %s", pair[0], pair[1], path, strings.Join(refused, ", "))
			}
		}
	}
}
