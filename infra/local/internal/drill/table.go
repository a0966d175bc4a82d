package drill

import (
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Drill is a trouble, and what is to be seen of it.
type Drill struct {
	Name    string
	Trouble string // what is wrong: a sentence without its end
	Needs   string // what must run; "" if serve alone does
	Plan    fault.Plan
	Load    Load
	// Poison is how many messages that nobody can read are put into the hub.
	Poison int
	// Keys are those of operate.Unusual: the status has to name one of them, and in the
	// end none. One that ends with a dot stands for all that begin so.
	Keys []string
	// Look is where an operator sees it, and what shows more. Mend is what mends it: an
	// engineer's part, which lifting the faults stands for.
	Look, Mend string
	// Act is what an operator decides afterwards: one of operate.ActNames, "" for nothing.
	Act string
}

// Load is what clients ask for meanwhile; without an end, nothing.
type Load struct {
	End   workflow.State // of the requests, when nothing goes wrong
	Every time.Duration
	Most  int // requests; 0 for no limit
}

// Place is where the drills take place.
type Place struct {
	Backend   string   // that is in trouble; a step has its name
	Functions []string // its
	Database  string   // the second shard's
}

// Who follows a drill waits for at most so long until the status names it, within 10 s if all
// goes well, or no longer does, within 30 s after its end.
const within = time.Minute

// Missing is the key of what stands for a status that doesn't come.
const Missing = "missing"

// Drills are all drills, in the order of the list. A fault lasts until it is lifted, but
// the shard's for an hour at most: only a burst can be of one database.
func Drills(at Place, now time.Time) []Drill {
	of := func(point fault.Point) fault.Plan {
		rates := map[fault.Point]float64{}
		for _, f := range at.Functions {
			rates[point.Of(f)] = 1
		}
		return fault.Plan{Seed: 1, Rates: rates, SlowSeconds: 60}
	}
	all := func(point fault.Point, rate float64) fault.Plan {
		return fault.Plan{Seed: 1, Rates: map[fault.Point]float64{point: rate}}
	}
	usual := Load{End: workflow.Completed, Every: 500 * time.Millisecond}
	keys := []string{"breaker." + at.Backend, "step." + at.Backend}
	return []Drill{
		{
			Name: "backend-down", Trouble: "the backend " + at.Backend + " is away: 503, or the connection is cut",
			Plan: of(fault.BackendAway), Load: usual, Keys: keys,
			Look: "ops status and the page name backend and step; ops list -state open -cause failing, or unreachable, shows who waits",
			Mend: "the backend is started again",
		}, {
			Name: "backend-slow", Trouble: "the backend " + at.Backend + " takes up to a minute for an answer",
			Plan: of(fault.BackendSlow), Load: usual, Keys: keys,
			Look: "ops status and the page name backend and step; ops list -state open -cause unreachable: the error is a time-out",
			Mend: "the backend gets more instances",
		}, {
			Name: "backend-nonsense", Trouble: "in the place of the backend " + at.Backend + " a page answers, 404",
			Plan: of(fault.BackendNotFound), Load: usual, Keys: keys,
			Look: "ops status and the page name backend and step; ops list -state open -cause failing; ops show ID has the answer",
			Mend: "the backend's address is put right",
		}, {
			Name: "database-throttled", Trouble: "Cosmos DB refuses half of all operations, 429",
			Plan: all(fault.CosmosThrottle, 0.5), Load: usual, Keys: []string{"database.throttled"},
			Look: "ops status and the page tell the share; all is slow, and nothing fails",
			Mend: "the container's maximum is raised",
		}, {
			Name: "poison", Trouble: "somebody puts messages into the hub that nobody can read",
			Poison: 3, Keys: []string{"quarantine"},
			Look: "ops status and the page count them; ops quarantine -state Kept -reason Unreadable; ops quarantine show SOURCE ID has the message",
			Mend: "who sent them is told to stop", Act: string(quarantine.ActDrop),
		}, {
			Name: "hub-behind", Trouble: "Relay can't hand over what clients send: Service Bus is away",
			Plan: all(fault.ServiceBusAway, 1), Load: usual, Keys: []string{"relay.unsent", "relay.behind", "relay.stands"},
			Look: "ops status and the page; ops partitions: the lag grows, while owners renew; Ready names serviceBus",
			Mend: "Service Bus is back",
		}, {
			Name: "undo-refused", Trouble: "backends refuse every undo, for good",
			Plan: all(fault.BackendUndoRefused, 1), Keys: []string{"undo.", "stuck"},
			Load: Load{End: workflow.Compensated, Every: time.Second, Most: 3},
			Look: "ops status and the page name the step, and then count what is Stuck; ops list shows it; ops show ID tells which call would remove what is left",
			Mend: "the backends undo again", Act: operate.ActRetry,
		}, {
			Name: "shard-away", Trouble: "the database of shard 2 is away", Needs: "serve -shards 2",
			Plan: fault.Plan{Seed: 1, Bursts: []fault.Burst{{Point: fault.CosmosAway, Scope: at.Database, From: now, Seconds: 3600, Rate: 1}}},
			Keys: []string{Missing},
			Look: "ops status and every list name the shard that is missing; the shard's own page shows nothing; Ready of the front is soon degraded",
			Mend: "the database is back",
		},
	}
}
