// Package workload is the demo's client: it plans requests from a seed and from
// the samples of a business's trial, sends them as any HTTP client would,
// follows each to its end, and compares what it saw with the plan.
package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Item is one planned request.
type Item struct {
	Kind trial.Kind
	Name string // the request's alone
	// ID is the TransactionID for PUT; empty for POST, where the service mints
	// one. Key is the Idempotency-Key for POST.
	ID, Key string
	Body    json.RawMessage
	// Twice is true if the client sends the request again under its id or key once it
	// is answered.
	Twice bool
	// Then is the operation that the client asks for at once: a cancel, a reschedule
	// by Change, or none (""). OperationKey is its Idempotency-Key.
	Then         workflow.OperationKind
	OperationKey string
	Change       json.RawMessage
	// Racing is true if nothing holds the request's completion back until then: the
	// operation may come too late.
	Racing bool
}

// malformed reports whether the request is to be refused.
func (it *Item) malformed() bool { return it.Kind.End == "" }

// end is the state in which it is to end.
func (it *Item) end() workflow.State {
	if it.Then == workflow.OperationCancel {
		return workflow.Cancelled
	}
	return it.Kind.End
}

// MinRequests is the smallest plan that has every kind.
const MinRequests = 20

const (
	// actedPercent is how many of a hundred requests are sent twice; as many are
	// cancelled, and as many changed.
	actedPercent = 4
	// changeable is for how long a request stays changeable whose client changes it:
	// long enough for that also on a slow machine.
	changeable = 30 * time.Second
)

// Usual returns the kind that has no share, and so the rest.
func Usual(t trial.Trial) trial.Kind {
	i := slices.IndexFunc(t.Kinds, func(k trial.Kind) bool { return k.Percent == 0 && k.End != "" })
	if i < 0 {
		return trial.Kind{}
	}
	return t.Kinds[i]
}

// Kinds returns the kinds of so many requests, in a random order: those that are
// malformed come on top.
func Kinds(t trial.Trial, requests int, random *rand.Rand) []trial.Kind {
	var kinds, refused []trial.Kind
	for _, k := range t.Kinds {
		n := max(1, requests*k.Percent/100)
		switch {
		case k.End == "":
			refused = append(refused, slices.Repeat([]trial.Kind{k}, n)...)
		case k.Percent > 0:
			kinds = append(kinds, slices.Repeat([]trial.Kind{k}, n)...)
		}
	}
	kinds = append(kinds, slices.Repeat([]trial.Kind{Usual(t)}, max(0, requests-len(kinds)))...)
	kinds = append(kinds, refused...)
	random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	return kinds
}

// Plan returns requests of every kind in a random but reproducible order: the same
// seed, run, count and start give the same plan. run tells one run's ids from
// another's. The error is the trial's fault.
func Plan(t trial.Trial, seed uint64, run string, requests int, start time.Time) ([]Item, error) {
	random := rand.New(rand.NewPCG(seed, 0x64656c6976657279))
	kinds := Kinds(t, requests, random)
	items := make([]Item, len(kinds))
	acts, usual := actsOf(t, requests), Usual(t).Name
	racing, err := waitless(t, start)
	if err != nil {
		return nil, err
	}
	for i, kind := range kinds {
		it := &items[i]
		*it = Item{Kind: kind, Name: fmt.Sprintf("%s-%d-%05d", run, seed, i+1)}
		if kind.Name == usual && len(acts) > 0 {
			acts[0](it, random)
			acts = acts[1:]
		}
		d := trial.Draw{Random: random, Name: it.Name, At: start}
		if it.Then != "" {
			d.Wait, it.Racing = changeable, racing
		}
		if err := it.Draw(t, d); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// actsOf are what the clients of some requests of the usual kind do.
func actsOf(t trial.Trial, requests int) []func(*Item, *rand.Rand) {
	twice := func(it *Item, random *rand.Rand) {
		it.Twice = true
		if random.IntN(2) == 0 {
			it.ID = "sample-" + it.Name
		} else {
			it.Key = "key-" + it.Name
		}
	}
	cancel := func(it *Item, _ *rand.Rand) { it.Then, it.OperationKey = workflow.OperationCancel, "cancel-"+it.Name }
	change := func(it *Item, _ *rand.Rand) {
		it.Then, it.OperationKey = workflow.OperationReschedule, "reschedule-"+it.Name
	}
	var acts []func(*Item, *rand.Rand)
	for range max(1, requests*actedPercent/100) {
		acts = append(acts, twice, cancel)
		if t.Change != nil {
			acts = append(acts, change)
		}
	}
	return acts
}

// waitless reports whether the samples ignore Draw.Wait.
func waitless(t trial.Trial, at time.Time) (bool, error) {
	var drawn [2]Item
	for i := range drawn {
		drawn[i].Kind = Usual(t)
		d := trial.Draw{Random: rand.New(rand.NewPCG(1, 1)), Name: "wait", At: at, Wait: time.Duration(i) * changeable}
		if err := drawn[i].Draw(t, d); err != nil {
			return false, err
		}
	}
	return bytes.Equal(drawn[0].Body, drawn[1].Body), nil
}

// Draw draws the body, and the change if the client asks for one.
func (it *Item) Draw(t trial.Trial, d trial.Draw) (err error) {
	if it.Body, err = json.Marshal(it.Kind.Draw(d)); err != nil {
		return fmt.Errorf("draw a request of the kind %s: %w", it.Kind.Name, err)
	}
	if it.Then == workflow.OperationReschedule {
		it.Change, err = DrawChange(t, d, it.Body)
	}
	return err
}

// DrawChange draws a change of a request.
func DrawChange(t trial.Trial, d trial.Draw, request json.RawMessage) (json.RawMessage, error) {
	change, err := json.Marshal(t.Change(d, request))
	if err != nil {
		return nil, fmt.Errorf("draw a change: %w", err)
	}
	return change, nil
}
