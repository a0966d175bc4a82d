package simulate

import "time"

// The documented limits; docs/capacity.md has them with the pages of Microsoft Learn.
const (
	mostInstances       = 1000      // of a Flex Consumption app ("Flex Consumption plan")
	mostProcessingUnits = 16        // of Event Hubs Premium ("Event Hubs quotas")
	bytesPerUnit        = 5e6       // a second into one: 5 to 10 MB ("scalability")
	mostPartitions      = 100       // of a hub
	mostMessagingUnits  = 16        // of Service Bus Premium
	bytesPerMessaging   = 4e6 / 2   // a second through one, halved for duplicate detection ("performance"; the half is planned)
	mostThroughput      = 1_000_000 // RU/s of a container, without a request to support ("quotas")
)

// What was planned, and not measured in Azure (docs/capacity.md, infra/sizes.bicep).
const (
	httpPerInstance     = 400.0
	eventsPerPartition  = 500.0
	schedulePerInstance = 64 / 0.5 // maxConcurrentCalls, for half a second each
	callsPerInstance    = 500.0
	staying             = 5 * time.Minute // an instance without work: Azure documents no figure
	drones              = 1_000_000
	flight              = 900 * 0.05 // seconds that one holds a drone, in size large
)

// What a delivery takes (docs/capacity.md, "What one delivery takes").
const (
	eventBytes, messageBytes  = 1500.0, 1700.0
	calls                     = 5.0
	unitsOfTransaction        = 30.9 // RU in container transactions, its deletion included
	unitsOfSystem             = 43.0 // RU in all containers of the system
	thousandUnits             = 1000.0
	instanceUSD               = 0.000026 * 2 * 3600 // on demand, 2 GB
	processingUSD             = 1.233
	messagingUSD              = 677.0 / 730
	thousandUSD               = 0.12 * unitsOfSystem / unitsOfTransaction // autoscale, by the highest of an hour
	readyHTTP, readyRelay     = 48, 6                                     // always ready in size large
	readySchedule, readyCalls = 24, 27
	appOfStamp                = 500 // maximumInstanceCount
	appOfBackends             = 400
)

// MaxShards is how many a map has at most.
const MaxShards = 1000

// Large is the size large in so many shards, each like the first, with one front and the
// sample backends. starting is how long a further instance takes until it works.
func Large(shards int, starting time.Duration) System {
	function := func(name string, each float64, least, most int) Lane {
		return Lane{Name: name, Each: each, Least: least, Most: most, Starts: starting, Keeps: staying, USD: instanceUSD}
	}
	shared := func(l Lane) Lane {
		l.Shared = true
		return l
	}
	return System{Shards: shards, Stages: []Stage{
		{
			shared(function("http", httpPerInstance, readyHTTP, mostInstances)),
			{Name: "hub", Each: bytesPerUnit / eventBytes, Most: mostProcessingUnits, USD: processingUSD},
		},
		{
			function("relay", eventsPerPartition, readyRelay, mostPartitions),
			{Name: "queue", Each: bytesPerMessaging / messageBytes, Most: mostMessagingUnits, USD: messagingUSD},
		},
		{
			function("schedule", schedulePerInstance, readySchedule, appOfStamp-mostPartitions),
			{Name: "RU", Each: thousandUnits / unitsOfTransaction, Least: mostThroughput / thousandUnits / 10, Most: mostThroughput / thousandUnits, Keeps: time.Hour, USD: thousandUSD},
			shared(function("backends", callsPerInstance/calls, readyCalls, appOfBackends)),
			{Name: "fleet", Each: drones / flight, Most: 1, Shared: true},
		},
	}}
}

// Machine is the app on one machine, by what it accepts and completes a second when it
// does nothing else.
func Machine(accepts, completes float64) System {
	return System{Shards: 1, OneMachine: true, Stages: []Stage{
		{{Name: "accept", Each: accepts, Most: 1}}, {{Name: "complete", Each: completes, Most: 1}},
	}}
}
