package fault

import "strings"

// Point names a place where the runtime can break something.
type Point string

// The points, by the part of the runtime. Where an answer is lost, the client
// can't know whether what it asked for was done: it was.
const (
	// AMQP connections, whichever service they are for.
	AMQPRefuse Point = "amqp.refuse" // a new connection is closed at once
	AMQPDrop   Point = "amqp.drop"   // a connection is cut when a frame arrives
	AMQPSlow   Point = "amqp.slow"   // a frame waits before it is looked at

	ServiceBusDetach    Point = "servicebus.detach"    // a link is detached when a message passes
	ServiceBusBusy      Point = "servicebus.busy"      // a send is rejected with server-busy
	ServiceBusSendLost  Point = "servicebus.sendlost"  // a message is stored, the connection cut instead of the answer
	ServiceBusLockLost  Point = "servicebus.locklost"  // a lock ends before its message is settled
	ServiceBusDuplicate Point = "servicebus.duplicate" // a completed message comes once more
	ServiceBusReorder   Point = "servicebus.reorder"   // a message overtakes those before it
	ServiceBusAway      Point = "servicebus.away"      // no link opens, every link ends that is used

	EventHubsDetach   Point = "eventhubs.detach"   // a link is detached when an event passes
	EventHubsBusy     Point = "eventhubs.busy"     // a send is rejected with server-busy
	EventHubsSendLost Point = "eventhubs.sendlost" // a batch is stored, the connection cut instead of the answer
	EventHubsAway     Point = "eventhubs.away"     // no link opens, every link ends that is used
	// EventHubsRecreated is an act: the hub is deleted and created again, once
	// Relay has handed over all that was in it.
	EventHubsRecreated Point = "eventhubs.recreated"

	CosmosThrottle    Point = "cosmos.throttle"    // 429 with x-ms-retry-after-ms
	CosmosUnavailable Point = "cosmos.unavailable" // 503, nothing done
	CosmosTimeout     Point = "cosmos.timeout"     // 408, done or not
	CosmosRace        Point = "cosmos.race"        // a document's ETag changes just before a conditional write: 412
	CosmosAnswerLost  Point = "cosmos.answerlost"  // a write is done, the connection cut instead of the answer
	CosmosSlow        Point = "cosmos.slow"        // a request waits
	CosmosAway        Point = "cosmos.away"        // 503 to everything
	CosmosPartition   Point = "cosmos.partition"   // 503 about some partition keys: to everything, or to writes

	// CosmosMap is the map of the shards away for every second of those who read it: so
	// that they differ.
	CosmosMap Point = "cosmos.map"

	// Calls to the functions of the backends, between the workflow and them. A scope
	// is a function.
	BackendError       Point = "backend.error"       // 503, nothing done
	BackendSlow        Point = "backend.slow"        // a call waits
	BackendReset       Point = "backend.reset"       // the connection is cut, nothing done
	BackendAnswerLost  Point = "backend.answerlost"  // done, the connection cut instead of the answer
	BackendLate        Point = "backend.late"        // the connection is cut, and the call arrives later
	BackendAway        Point = "backend.away"        // half of the calls are answered 503, half are cut
	BackendForbidden   Point = "backend.forbidden"   // 403 by the platform, a page
	BackendNotFound    Point = "backend.notfound"    // 404 by the platform, a page
	BackendUndoRefused Point = "backend.undorefused" // every DELETE for a transaction is answered 409, for good

	// Services that aren't the app's own.
	ServiceLate Point = "service.late" // what was asked for is done, and answered past the call time-out
	ServiceKill Point = "service.kill" // a service's process ends when it has kept an entry, and not answered

	// Acts.
	HandlerKill     Point = "handler.kill"     // SIGKILL of a handler
	HostStop        Point = "host.stop"        // a host is stopped, another takes its place
	HostStopInRetry Point = "host.stopinretry" // a host is stopped while it repeats a batch: the checkpoint moves past it
	HostOwnership   Point = "host.ownership"   // partitions are taken from their owner

	// Acts that last: only in bursts, whose scope is the name of an instance.
	HandlerFreeze Point = "handler.freeze" // SIGSTOP of a handler, at the end SIGCONT
	HostTwoOwners Point = "host.twoowners" // a host goes on with partitions that others take over
)

// Info says what a point is.
type Info struct {
	Point   Point  `json:"point"`
	Meaning string `json:"meaning"`
	// Act is true for what is done at intervals rather than on the way.
	Act bool `json:"act,omitempty"`
	// Lasts is true for an act that is not done at intervals but for a time, by a
	// burst.
	Lasts bool `json:"lasts,omitempty"`
	// Rate is the share of the opportunities that are hit, or, of an act, how
	// often it is done in a minute, where the command line names no other. 0 is
	// what comes in bursts alone.
	Rate float64 `json:"rate"`
}

// Points are all of them, in the order in which they are shown.
var Points = []Info{
	{AMQPRefuse, "a new connection is closed at once", false, false, 0.05},
	{AMQPDrop, "a connection is cut when a frame arrives", false, false, 0.0005},
	{AMQPSlow, "a frame waits before it is looked at", false, false, 0.002},
	{ServiceBusDetach, "a link is detached when a message passes", false, false, 0.002},
	{ServiceBusBusy, "a send is rejected with server-busy", false, false, 0.02},
	{ServiceBusSendLost, "a message is stored, the connection is cut instead of the answer", false, false, 0.005},
	{ServiceBusLockLost, "a lock ends before its message is settled", false, false, 0.01},
	{ServiceBusDuplicate, "a completed message comes once more", false, false, 0.02},
	{ServiceBusReorder, "a message overtakes those before it", false, false, 0.1},
	{ServiceBusAway, "the queues are away: no link opens, every link ends that is used", false, false, 0},
	{EventHubsDetach, "a link is detached when an event passes", false, false, 0.002},
	{EventHubsBusy, "a send is rejected with server-busy", false, false, 0.02},
	{EventHubsSendLost, "a batch is stored, the connection is cut instead of the answer", false, false, 0.01},
	{EventHubsAway, "the hub is away: no link opens, every link ends that is used", false, false, 0},
	{EventHubsRecreated, "the hub is deleted and created again, once nothing in it waits for Relay", true, false, 2},
	{CosmosThrottle, "429 with a time to wait", false, false, 0.02},
	{CosmosUnavailable, "503, nothing done", false, false, 0.005},
	{CosmosTimeout, "408, done or not", false, false, 0.005},
	{CosmosRace, "a document changes just before a conditional write: 412", false, false, 0.01},
	{CosmosAnswerLost, "a write is done, the connection is cut instead of the answer", false, false, 0.005},
	{CosmosSlow, "a request waits", false, false, 0.005},
	{CosmosAway, "the database is away: 503 to everything", false, false, 0},
	{CosmosPartition, "a part of the database is away: 503 for some partition keys, to everything or to writes alone", false, false, 0},
	{CosmosMap, "the map of the shards is away for every second front: 503", false, false, 0},
	{BackendError, "503, nothing done", false, false, 0.05},
	{BackendSlow, "a call waits", false, false, 0.02},
	{BackendReset, "the connection is cut, nothing done", false, false, 0.02},
	{BackendAnswerLost, "done, the connection is cut instead of the answer", false, false, 0.02},
	{BackendLate, "the connection is cut, and the call arrives later", false, false, 0.01},
	{BackendAway, "a backend is away: 503, or the connection is cut", false, false, 0},
	{BackendForbidden, "the platform in front of a backend answers 403 with a page", false, false, 0},
	{BackendNotFound, "the platform in front of a backend answers 404 with a page", false, false, 0},
	{BackendUndoRefused, "every DELETE for a transaction is answered 409, for good", false, false, 0.005},
	{ServiceLate, "a service that isn't ours answers past the call time-out", false, false, 0.1},
	{ServiceKill, "the process of a service that isn't ours ends: done, not answered", false, false, 0.01},
	{HandlerKill, "SIGKILL of a handler", true, false, 12},
	{HostStop, "a host is stopped, another takes its place", true, false, 1},
	{HostStopInRetry, "a host is stopped while it repeats a batch", true, false, 1},
	{HostOwnership, "partitions are taken from their owner", true, false, 2},
	{HandlerFreeze, "a handler is frozen, past its leases", true, true, 0},
	{HostTwoOwners, "a host goes on with partitions that others have taken over", true, true, 0},
}

// Of returns the point as a plan's rates name it for one of several alone, such as
// backend.away@Packages for a function; "" is all of them.
func (p Point) Of(scope string) Point {
	if scope == "" {
		return p
	}
	return p + "@" + Point(scope)
}

// cut returns the point and the one of several that Of has named.
func (p Point) cut() (of Point, scope string) {
	name, scope, _ := strings.Cut(string(p), "@")
	return Point(name), scope
}

// scoped reports whether there are several of the point: a backend's functions.
func (p Point) scoped() bool { return group(p) == "backend" && p != BackendUndoRefused }

// Lookup returns what a point is, also that of one of several.
func Lookup(p Point) (Info, bool) {
	p, _ = p.cut()
	for _, info := range Points {
		if info.Point == p {
			return info, true
		}
	}
	return Info{}, false
}
