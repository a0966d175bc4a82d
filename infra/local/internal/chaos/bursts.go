package chaos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// How long bursts last: longer than what repeats them away. The SDKs give up
// within seconds, and Ingest waits for the hub for 5 s under the profile chaos.
// A lease there lasts 7 s, and is taken over 5 s later, or 4 s more by a clock
// that is behind; the deliveries of a message to a handler that fails are used up after 33 s.
const (
	shortOutage  = 8 * time.Second
	longOutage   = 2 * time.Minute
	outagePart   = 6 // of the run's duration
	freezeTime   = 17 * time.Second
	ownersTime   = 12 * time.Second
	platformTime = 4 * time.Second
	lettersTime  = 36 * time.Second
	lateTime     = 10 * time.Second
)

// lateShare is the share of the calls that are late in a burst.
const lateShare = 0.25

// partitionShare is the share of the partition keys that one burst takes away.
const partitionShare = 0.05

// outage is how long a service is away in a run.
func outage(duration time.Duration) time.Duration {
	return min(max(shortOutage, duration/outagePart), longOutage)
}

// functions are those that the workflow calls, by name: the first of each backend, in
// their order.
func (c Config) functions() []string {
	var all []string
	for _, b := range c.Business.Backends {
		if len(b.Functions) > 0 {
			all = append(all, b.Functions[0].Name)
		}
	}
	return all
}

// pivots are those of them whose effects the world makes final.
func (c Config) pivots() []string {
	var all []string
	for _, step := range c.Business.Workflow.Steps {
		if !step.Pivot {
			continue
		}
		backend := step.Call(workflow.Input{TransactionID: "t", Revision: 1}).Backend
		for _, b := range c.Business.Backends {
			if b.Name == backend && len(b.Functions) > 0 {
				all = append(all, b.Functions[0].Name)
			}
		}
	}
	return all
}

// remedy is a burst that brings something about.
type remedy struct {
	point fault.Point
	rate  float64
	// takes is how long it lasts, in a run with outages of a length.
	takes func(outage time.Duration) time.Duration
	// scopes are those of which each burst takes one, none if there can't be one; ""
	// is no scope.
	scopes func(Config) []string
}

func whole(outage time.Duration) time.Duration { return outage }

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

func noScope(Config) []string { return []string{""} }

// others are the instances besides the first, if there are any: that one has the
// front end and the backends, without which nobody would get on and take over.
func others(c Config) []string { return instances(c)[min(1, c.Instances-1):] }

// instances are the names of the instances that serve gives.
func instances(c Config) []string {
	names := make([]string, c.Instances)
	for i := range names {
		names[i] = fmt.Sprintf("instance %d", i+1)
	}
	return append(names, c.stamps()...)
}

// remedies are all bursts that a run has, each at least once.
var remedies = []remedy{
	{fault.CosmosPartition, partitionShare, func(o time.Duration) time.Duration { return max(o, lettersTime) }, noScope},
	{fault.EventHubsAway, 1, whole, noScope},
	// The SDK's repeats find nobody who answers, but the hub has the events.
	{fault.EventHubsSendLost, 1, always(shortOutage), noScope},
	{fault.ServiceBusAway, 1, whole, noScope},
	{fault.CosmosAway, 1, whole, noScope},
	{fault.BackendAway, 1, whole, Config.functions},
	{fault.BackendAway, 1, always(shortOutage), Config.pivots},
	{fault.BackendLate, lateShare, always(lateTime), noScope},
	{fault.HandlerFreeze, 1, always(freezeTime), others},
	{fault.HostTwoOwners, 1, always(ownersTime), instances},
	{fault.BackendForbidden, 1, always(platformTime), Config.functions},
	{fault.BackendNotFound, 1, always(platformTime), Config.functions},
}

// bursts returns the burst of a remedy from a moment on. A frozen handler's
// messages must come to others before it goes on: their locks end.
func (r remedy) bursts(c Config, from time.Time, random *rand.Rand) []fault.Burst {
	scopes := r.scopes(c)
	if len(scopes) == 0 {
		return nil
	}
	all := []fault.Burst{{
		Point: r.point, Scope: scopes[random.IntN(len(scopes))],
		From: from.UTC(), Seconds: r.takes(outage(c.Duration)).Seconds(), Rate: r.rate,
	}}
	if r.point == fault.HandlerFreeze && c.breaks(fault.ServiceBusLockLost) {
		all = append(all, fault.Burst{Point: fault.ServiceBusLockLost, From: from.UTC(), Seconds: freezeTime.Seconds() / 2, Rate: 0.5})
	}
	return all
}

// planBursts returns the bursts of a run that begins at start: each remedy that
// fits once, at a moment that the seed chooses.
func (c Config) planBursts(start time.Time) []fault.Burst {
	random := rand.New(rand.NewPCG(c.Seed, 0x6275727374))
	var all []fault.Burst
	for _, r := range remedies {
		room := c.Duration*9/10 - r.takes(outage(c.Duration))
		at := upTo(random, max(1, room))
		if scopes := r.scopes(c); len(scopes) > 0 && slices.Equal(scopes, c.pivots()) && room > leadTime { // there is a story to be told before
			at = leadTime + upTo(random, room-leadTime)
		}
		if c.breaks(r.point) && room > 0 {
			all = append(all, r.bursts(c, start.Add(at), random)...)
		}
	}
	return append(all, c.shardBursts(start)...)
}

// shardBursts are those of a run with several shards: all services of one are away, and
// around the closing some can't read the map.
func (c Config) shardBursts(start time.Time) []fault.Burst {
	if !c.sharded() {
		return nil
	}
	random := rand.New(rand.NewPCG(c.Seed, 0x736861726473))
	var all []fault.Burst
	n := 1 + random.IntN(c.Shards)
	from := start.Add(upTo(random, max(1, c.Duration*9/10-outage(c.Duration))))
	away := func(p fault.Point, names ...string) {
		for _, name := range names {
			if c.breaks(p) {
				all = append(all, fault.Burst{Point: p, Scope: system.InShard(name, n), From: from.UTC(), Seconds: outage(c.Duration).Seconds(), Rate: 1})
			}
		}
	}
	away(fault.EventHubsAway, eventHub)
	away(fault.ServiceBusAway, queues...)
	away(fault.CosmosAway, database)
	if c.breaks(fault.CosmosMap) {
		from := start.Add(time.Duration(closedPart*float64(c.Duration)) - oldMapBefore)
		all = append(all, fault.Burst{Point: fault.CosmosMap, From: from.UTC(), Seconds: max(oldMapTime, outage(c.Duration)).Seconds(), Rate: 1})
	}
	return all
}
