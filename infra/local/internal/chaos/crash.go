package chaos

import (
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
)

// crashes steers at which of their effects handlers are killed. The runtime kills
// them by a plan, and notes each death. So the plan always holds a few points
// that were not hit yet, and is written anew when one was, or when none was for a
// while.
type crashes struct {
	dir    string // of the plan and the deaths
	run    string
	points []string
	random *rand.Rand
	watch  *effect.Watch // for what arrives here

	hits  map[string]int // by point
	armed map[string]int // how often, by point
}

// armedAtOnce is how many points a plan has, besides those that stay in it since
// they are rarely passed.
const armedAtOnce = 6

// passings are the latest passings of a point at which a handler is killed, by how
// often the point was armed before: anywhere in its work at first. A point that
// was armed in vain as often as that stays armed, for its first passing.
var passings = []int{40, 1}

// newCrashes makes the folder, with a plan that kills nobody. The watch must be
// closed.
func newCrashes(points []string, dir string, seed uint64) (*crashes, error) {
	random := rand.New(rand.NewPCG(seed, 0x6372617368))
	c := &crashes{
		dir: dir, run: fmt.Sprintf("%08x", random.Uint32()), points: points, random: random,
		hits: map[string]int{}, armed: map[string]int{},
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the plan of crashes: %w", err)
	}
	if err := c.disarm(); err != nil {
		return nil, err
	}
	// What goes wrong is in the deaths.
	watch, err := effect.Open(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	c.watch = watch
	return c, nil
}

// arm writes a plan of points that were not hit yet: those that were armed least
// often, and those that were armed in vain.
func (c *crashes) arm() error { return effect.Plan{Run: c.run, Points: c.next()}.Write(c.dir) }

// disarm writes a plan without points.
func (c *crashes) disarm() error { return effect.Plan{Run: c.run}.Write(c.dir) }

// next chooses the points and the passings.
func (c *crashes) next() map[string]int {
	open := slices.DeleteFunc(slices.Clone(c.points), func(p string) bool { return c.hits[p] > 0 })
	c.random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	slices.SortStableFunc(open, func(a, b string) int { return c.armed[a] - c.armed[b] })
	chosen := map[string]int{}
	for i, p := range open {
		switch n := c.armed[p]; {
		case n >= len(passings):
			chosen[p] = 1
		case i < armedAtOnce:
			chosen[p] = 1 + c.random.IntN(passings[n])
			c.armed[p]++
		}
	}
	return chosen
}

// look returns how many handlers have died since the last look. It fails if the
// runtime has killed another process than that of the effect.
func (c *crashes) look() (int, error) {
	hits, err := effect.Deaths(c.dir)
	if err != nil {
		return 0, err
	}
	before := c.deaths()
	c.hits = hits
	return c.deaths() - before, nil
}

// deaths is how many handlers have died at points.
func (c *crashes) deaths() int {
	n := 0
	for hits := range maps.Values(c.hits) {
		n += hits
	}
	return n
}

// Coverage tells which crash points handlers have died at.
type Coverage struct {
	Points int      `json:"points"`
	Deaths int      `json:"deaths"`
	Missed []string `json:"missed"` // no handler has died there
}

func (c *crashes) coverage() Coverage {
	cov := Coverage{Points: len(c.points), Deaths: c.deaths(), Missed: []string{}}
	for _, p := range c.points {
		if c.hits[p] == 0 {
			cov.Missed = append(cov.Missed, p)
		}
	}
	return cov
}
