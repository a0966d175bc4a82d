package simulate

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// instances are the lanes whose units are instances of apps.
var instances = []string{"http", "relay", "schedule", "backends"}

// Waits returns what waits in front of all stages.
func (p Point) Waits() (all float64) {
	for _, n := range p.Waiting {
		all += n
	}
	return all
}

func (p Point) instances() (all int) {
	for _, name := range instances {
		all += p.Units[name]
	}
	return all
}

// WriteText writes a row for each stage of the shape, and one for what came after it.
func WriteText(w io.Writer, shape load.Shape, points []Point) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "FROM\tOFFERED/S\tACCEPTED/S\tREFUSED\tCOMPLETED/S\tMOST WAITING\tMOST INSTANCES\tUSD\tHELD BACK BY")
	begin, rest, total := time.Duration(0), points, 0.0
	for _, stage := range append(slices.Clone(shape), load.Stage{For: 1 << 62}) {
		n := 0
		for n < len(rest) && rest[n].At-begin < stage.For {
			n++
		}
		if n > 0 {
			total += row(out, begin, rest[:n])
		}
		begin, rest = begin+stage.For, rest[n:]
	}
	if err := out.Flush(); err != nil {
		return err
	}
	last := points[len(points)-1]
	end := fmt.Sprintf("nothing waits after %v", last.At)
	if last.Waits() >= 1 {
		end = fmt.Sprintf("%.0f wait after %v", last.Waits(), last.At)
	}
	_, err := fmt.Fprintf(w, "%s; %.0f USD\n", end, total)
	return err
}

func row(w io.Writer, from time.Duration, points []Point) float64 {
	var offered, accepted, completed, waits, usd float64
	most, narrow := 0, map[string]bool{}
	for _, p := range points {
		offered, accepted, completed, usd = offered+p.Offered, accepted+p.Accepted, completed+p.Completed, usd+p.USD
		waits, most = max(waits, p.Waits()), max(most, p.instances())
		for _, lane := range p.Narrow {
			narrow[lane] = true
		}
	}
	n := float64(len(points))
	refused := 0.0
	if offered > 0 {
		refused = 100 * (1 - accepted/offered)
	}
	fmt.Fprintf(w, "%v\t%.0f\t%.0f\t%.1f %%\t%.0f\t%.0f\t%d\t%.0f\t%s\n", from, offered/n, accepted/n, refused, completed/n, waits, most, usd, strings.Join(slices.Sorted(maps.Keys(narrow)), ", "))
	return usd
}

// Plot returns the rates and what waits over time, in powers of ten.
func Plot(points []Point, step time.Duration) load.Plot {
	of := func(value func(Point) float64) (values []float64) {
		for _, p := range points {
			values = append(values, max(1, value(p)))
		}
		return values
	}
	return load.Plot{Title: "Requests a second, those that wait, and instances", Log: true, Every: step, Lines: []load.Line{
		{Name: "offered", Values: of(func(p Point) float64 { return p.Offered })},
		{Name: "completed", Values: of(func(p Point) float64 { return p.Completed })},
		{Name: "waiting", Values: of(Point.Waits)},
		{Name: "instances", Values: of(func(p Point) float64 { return float64(p.instances()) })},
	}}
}
