package chaos

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
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

// backends are the functions that the workflow calls, by name, in its order.
var backends = []string{"Accounts", "Packages", "ThirdPartyDeliveries", "DroneDeliveries", "Deliveries"}

// remedy is a burst that brings something about.
type remedy struct {
	point fault.Point
	rate  float64
	// takes is how long it lasts, in a run with outages of a length.
	takes func(outage time.Duration) time.Duration
	// scopes are those of which each burst takes one; none is "".
	scopes func(instances int) []string
}

func whole(outage time.Duration) time.Duration { return outage }

func always(d time.Duration) func(time.Duration) time.Duration {
	return func(time.Duration) time.Duration { return d }
}

func noScope(int) []string   { return []string{""} }
func functions(int) []string { return backends }
func drones(int) []string    { return []string{dronesBackend} }

// dronesBackend is the function whose effects the world makes final.
const dronesBackend = "DroneDeliveries"

// others are the instances besides the first, if there are any: that one has the
// front end and the backends, without which nobody would get on and take over.
func others(n int) []string { return instances(n)[min(1, n-1):] }

// instances are the names of the instances that serve gives.
func instances(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("instance %d", i+1)
	}
	return names
}

// remedies are all bursts that a run has, each at least once.
var remedies = []remedy{
	{fault.CosmosPartition, partitionShare, func(o time.Duration) time.Duration { return max(o, lettersTime) }, noScope},
	{fault.EventHubsAway, 1, whole, noScope},
	// The SDK's repeats find nobody who answers, but the hub has the events.
	{fault.EventHubsSendLost, 1, always(shortOutage), noScope},
	{fault.ServiceBusAway, 1, whole, noScope},
	{fault.CosmosAway, 1, whole, noScope},
	{fault.BackendAway, 1, whole, functions},
	{fault.BackendAway, 1, always(shortOutage), drones},
	{fault.BackendLate, lateShare, always(lateTime), noScope},
	{fault.HandlerFreeze, 1, always(freezeTime), others},
	{fault.HostTwoOwners, 1, always(ownersTime), instances},
	{fault.BackendForbidden, 1, always(platformTime), functions},
	{fault.BackendNotFound, 1, always(platformTime), functions},
}

// bursts returns the burst of a remedy from a moment on. A frozen handler's
// messages must come to others before it goes on: their locks end.
func (r remedy) bursts(from time.Time, outage time.Duration, instances int, random *rand.Rand, also func(fault.Point) bool) []fault.Burst {
	scopes := r.scopes(instances)
	all := []fault.Burst{{
		Point: r.point, Scope: scopes[random.IntN(len(scopes))],
		From: from.UTC(), Seconds: r.takes(outage).Seconds(), Rate: r.rate,
	}}
	if r.point == fault.HandlerFreeze && also(fault.ServiceBusLockLost) {
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
		if r.scopes(1)[0] == dronesBackend && room > leadTime { // there is a story to be told before
			at = leadTime + upTo(random, room-leadTime)
		}
		if c.breaks(r.point) && room > 0 {
			all = append(all, r.bursts(start.Add(at), outage(c.Duration), c.Instances, random, c.breaks)...)
		}
	}
	return all
}
