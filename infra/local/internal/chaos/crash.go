package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// crashes steers where handlers die. A handler reads, when it starts, at which
// points it is to die, and notes the point in a log before it does. So the plan
// always holds a few points that were not hit yet, and is written anew when one
// was, or when none was for a while.
type crashes struct {
	plan, log string // files
	points    []string
	random    *rand.Rand

	hits  map[string]int // by point
	armed map[string]int // how often, by point
}

// armedAtOnce is how many points a plan has.
const armedAtOnce = 6

// passings are the latest passings of a point at which a handler dies, by how
// often the point was armed before: late at first, so that a handler gets some
// work done before. A point that was armed in vain is rarely passed, and its
// first passing is taken in the end.
var passings = []int{40, 6, 1}

// crashPoints asks the app's handler for the names of its points.
func crashPoints(ctx context.Context, handler string) ([]string, error) {
	output, err := exec.CommandContext(ctx, handler, "crash-points").Output()
	if err != nil {
		return nil, fmt.Errorf("list the crash points of %s: %w", handler, err)
	}
	points := strings.Fields(string(output))
	if len(points) == 0 {
		return nil, fmt.Errorf("list the crash points of %s: it has none", handler)
	}
	return points, nil
}

func newCrashes(points []string, plan, log string, seed uint64) *crashes {
	return &crashes{
		plan: plan, log: log, points: points, random: rand.New(rand.NewPCG(seed, 0x6372617368)),
		hits: map[string]int{}, armed: map[string]int{},
	}
}

// arm writes a plan of points that were not hit yet, those first that were
// armed least often.
func (c *crashes) arm() error { return c.write(c.next()) }

// disarm writes a plan without points. A handler that has read another one
// before still dies by that.
func (c *crashes) disarm() error { return c.write(map[string]int{}) }

// next chooses the points and the passings.
func (c *crashes) next() map[string]int {
	open := slices.DeleteFunc(slices.Clone(c.points), func(p string) bool { return c.hits[p] > 0 })
	c.random.Shuffle(len(open), func(i, j int) { open[i], open[j] = open[j], open[i] })
	slices.SortStableFunc(open, func(a, b string) int { return c.armed[a] - c.armed[b] })
	chosen := map[string]int{}
	for _, p := range open[:min(armedAtOnce, len(open))] {
		chosen[p] = 1 + c.random.IntN(passings[min(c.armed[p], len(passings)-1)])
		c.armed[p]++
	}
	return chosen
}

// write replaces the plan in one go: a handler may read it at any moment.
func (c *crashes) write(points map[string]int) error {
	content, err := json.Marshal(map[string]any{"points": points})
	if err != nil {
		return fmt.Errorf("write the crash plan: %w", err)
	}
	if err := os.WriteFile(c.plan+".new", content, 0o600); err != nil {
		return fmt.Errorf("write the crash plan: %w", err)
	}
	if err := os.Rename(c.plan+".new", c.plan); err != nil {
		return fmt.Errorf("write the crash plan: %w", err)
	}
	return nil
}

// look reads the log and returns how many handlers have died since the last
// look. A last line without its end is still being written.
func (c *crashes) look() (int, error) {
	content, err := os.ReadFile(c.log)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read the crash log: %w", err)
	}
	whole := content[:bytes.LastIndexByte(content, '\n')+1]
	before := c.deaths()
	clear(c.hits)
	for point := range strings.FieldsSeq(string(whole)) {
		c.hits[point]++
	}
	return c.deaths() - before, nil
}

// deaths is how many handlers have died at points.
func (c *crashes) deaths() int {
	n := 0
	for _, hits := range c.hits {
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
