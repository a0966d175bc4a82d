package infra_test

import (
	"fmt"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

var tierChecks = []check{{"tiers", tiers}, {"instances", instances}}

// Units that can be had: throughput units of Standard (Microsoft Learn, "Event
// Hubs quotas and limits"), processing units ("Scaling with Event Hubs"),
// messaging units and sizes of queues ("Service Bus Premium messaging tier",
// "Service Bus quotas").
var (
	mostThroughputUnits = int64(40)
	processingUnits     = []int64{1, 2, 4, 6, 8, 10, 12, 16}
	messagingUnits      = []int64{1, 2, 4, 8, 16}
	standardMegabytes   = []int64{1024, 2048, 3072, 4096, 5120}
	premiumMegabytes    = slices.Concat(standardMegabytes, []int64{10240, 20480, 40960, 81920})
)

// tiers: capacities and sizes are such as their tier has.
func tiers(w *world) []string {
	var out []string
	whole := func(r bicep.Resource, path string) int64 {
		n, _ := r.At(path).(int64)
		return n
	}
	for _, r := range w.deployed.Of("Microsoft.EventHub/namespaces") {
		units, most := whole(r, "sku.capacity"), whole(r, "properties.maximumThroughputUnits")
		switch sku := r.Text("sku.name"); {
		case sku == "Standard" && (units < 1 || units > mostThroughputUnits || most > mostThroughputUnits || most != 0 && most < units):
			out = append(out, fmt.Sprintf("%s has %d throughput units and grows to %d; Standard has 1 to %d", r.Name, units, most, mostThroughputUnits))
		case sku == "Premium" && (!slices.Contains(processingUnits, units) || r.At("properties.isAutoInflateEnabled") != nil):
			out = append(out, fmt.Sprintf("%s has %d processing units, auto-inflate %v; Premium has %d, and no auto-inflate",
				r.Name, units, r.At("properties.isAutoInflateEnabled"), processingUnits))
		case sku != "Standard" && sku != "Premium":
			out = append(out, fmt.Sprintf("%s is of the tier %q", r.Name, sku))
		}
	}
	for _, r := range w.deployed.Of("Microsoft.ServiceBus/namespaces") {
		sizes := standardMegabytes
		switch sku := r.Text("sku.name"); {
		case sku == "Premium":
			sizes = premiumMegabytes
			if units := whole(r, "sku.capacity"); !slices.Contains(messagingUnits, units) {
				out = append(out, fmt.Sprintf("%s has %d messaging units; Premium has %d", r.Name, units, messagingUnits))
			}
		case sku != "Standard":
			out = append(out, fmt.Sprintf("%s is of the tier %q, which has no duplicate detection", r.Name, sku))
		}
		for _, queue := range w.deployed.Of(queueKind) {
			if size := whole(queue, "properties.maxSizeInMegabytes"); queue.Parent == r.ID && !slices.Contains(sizes, size) {
				out = append(out, fmt.Sprintf("%s may be of %d MB; its tier has %d", queue.Name, size, sizes))
			}
		}
	}
	return out
}

// instances: sizes and numbers that Flex Consumption has (Microsoft Learn,
// "Azure Functions Flex Consumption plan hosting").
func instances(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		const scale = "properties.functionAppConfig.scaleAndConcurrency."
		most, _ := a.site.At(scale + "maximumInstanceCount").(int64)
		if most < 1 || most > 1000 {
			out = append(out, fmt.Sprintf("%s may have %d instances; there are 1 to 1000", a.name, most))
		}
		if memory, _ := a.site.At(scale + "instanceMemoryMB").(int64); !slices.Contains([]int64{512, 2048, 4096}, memory) {
			out = append(out, fmt.Sprintf("%s has instances of %d MB; there are 512, 2048 and 4096", a.name, memory))
		}
		if n, _ := a.site.At(scale + "triggers.http.perInstanceConcurrency").(int64); n < 1 || n > 1000 {
			out = append(out, fmt.Sprintf("%s runs %d HTTP requests at once in an instance; there are 1 to 1000", a.name, n))
		}
		ready := int64(0)
		list, _ := a.site.At(scale + "alwaysReady").([]any)
		for _, item := range list {
			entry, _ := item.(map[string]any)
			n, _ := entry["instanceCount"].(int64)
			ready += n
		}
		if ready > most {
			out = append(out, fmt.Sprintf("%s keeps %d instances of %d", a.name, ready, most))
		}
	}
	return out
}
