package workflowtest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Fate is what becomes of one effect on the outside world.
type Fate int

// The fates.
const (
	Pass   Fate = iota // it takes place, and its answer arrives
	Refuse             // it does not take place, and fails as transient
	Lose               // it takes place, but its answer is lost: transient
)

// ErrFate is the cause of a failure that a Gate has ordered.
var ErrFate = errors.New("fate")

// Gate decides on the effects of the doubles that share it. An effect's name
// tells what is done to what, such as "replace t-1" or "send t-1/transactions/2";
// n counts the effects of that name from 1. The zero value lets all pass. It is
// safe for concurrent use; Decide is called with a lock held.
type Gate struct {
	Decide func(effect string, n int) Fate

	mu     sync.Mutex
	counts map[string]int
	names  []string
}

// Ask returns the fate of one effect and the error that goes with it.
func (g *Gate) Ask(effect string) (Fate, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts == nil {
		g.counts = map[string]int{}
	}
	g.counts[effect]++
	n := g.counts[effect]
	g.names = append(g.names, fmt.Sprintf("%s #%d", effect, n))
	if g.Decide == nil {
		return Pass, nil
	}
	fate := g.Decide(effect, n)
	if fate == Pass {
		return Pass, nil
	}
	return fate, failure.New(failure.Transient, effect, "", ErrFate)
}

// Effects returns the effects so far, in the order in which they were asked
// for, each with its number: "create t-1 #1".
func (g *Gate) Effects() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]string(nil), g.names...)
}
