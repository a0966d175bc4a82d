package bench

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// wayColumns are those of the table of compare.
const wayColumns = "backends | partitions | way | completed a second | p50 ms | p99 ms | CPU ms each | Cosmos DB operations each | Service Bus operations each | " +
	"cores busy | an instance stopped: lost | recognized | calls again | events again | s until what was in work had ended | slowest of what came later, s"

// operationsOnQueue are those of Service Bus: each message is sent by one, and taken by
// two, its receipt and its settlement. Lock renewals are not counted.
func operationsOnQueue(c load.Counts) float64 { return c.Sent + 2*c.Taken }

func operationsOnCosmos(c load.Counts) (n float64) {
	for _, operations := range c.Operations {
		n += operations
	}
	return n
}

func wayRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, w := range o.Ways {
			of := func(format string, value func(WayRound) float64) string { return w.spread(value).text(format) }
			each := func(n func(load.Counts) float64) func(WayRound) float64 {
				return func(r WayRound) float64 { return n(r.Counts) / float64(max(1, r.Done)) }
			}
			stopped := " | | | | | "
			if s := w.Stopped; s != nil {
				stopped = fmt.Sprintf("%d of %d | %d | %d | %d | %.1f | %.1f", s.Lost, s.Accepted, s.Recognized, s.CallsAgain, s.EventsAgain, s.InWork.Seconds(), s.Later.Seconds())
			}
			rows = append(rows, fmt.Sprintf("| %s | %d | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", w.Backends, w.Partitions, w.Scheduler,
				of("%.0f", func(r WayRound) float64 { return r.Rate() }), of("%.0f", WayRound.p50), of("%.0f", WayRound.p99),
				of("%.2f", func(r WayRound) float64 { return float64(r.PerItem()) / float64(time.Millisecond) }),
				of("%.1f", each(operationsOnCosmos)), of("%.2f", each(operationsOnQueue)),
				of("%.0f %%", func(r WayRound) float64 { return 100 * r.Busy }), stopped))
		}
	}
	return rows
}

func (w Way) spread(value func(WayRound) float64) Spread {
	var values []float64
	for _, r := range w.Rounds {
		values = append(values, value(r))
	}
	return spreadOf(values)
}

func (r WayRound) p50() float64 { return milliseconds(r.Latencies.P50) }
func (r WayRound) p99() float64 { return milliseconds(r.Latencies.P99) }

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

const tradeColumns = "batches for one position | events | invocations | operations on Relay's positions | writes of the host | " +
	"an instance stopped: accepted | lost | recognized | calls again | events again"

func tradeRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, t := range o.Trades {
			stopped := " | | | | "
			if s := t.Stopped; s != nil {
				stopped = fmt.Sprintf("%d | %d | %d | %d | %d", s.Accepted, s.Lost, s.Recognized, s.CallsAgain, s.EventsAgain)
			}
			rows = append(rows, fmt.Sprintf("| %d | %d | %d | %d | %d | %s |\n", t.Batches, t.Events, t.Invoked, t.Own, t.Host, stopped))
		}
	}
	return rows
}

func settledRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, s := range o.Settled {
			rows = append(rows, fmt.Sprintf("| %s | %d | %d | %d | %d | %.0f | %.3f | %.1f |\n", s.Way, s.Sent, s.Lost, s.Half, s.Again, s.Rate, milliseconds(s.CPU), s.Until.Seconds()))
		}
	}
	return rows
}

// The picture of latencies: a row for each way, from 1 ms on in powers of ten.
const (
	pictureWidth           = 800
	pictureLeft, pictureUp = 190, 60
	rowHeight              = 22
	decades                = 5
)

// WriteSVG draws the latencies of compare: for each way a bar from p50 to p99, of the
// rounds' medians, and a thin line over all that was measured.
func WriteSVG(w io.Writer, outcomes []*Outcome) error {
	var ways []Way
	for _, o := range outcomes {
		ways = append(ways, o.Ways...)
	}
	b := &strings.Builder{}
	height := pictureUp + rowHeight*len(ways) + 30
	x := func(ms float64) float64 {
		return pictureLeft + math.Log10(min(max(1, ms), math.Pow10(decades)))/decades*(pictureWidth-pictureLeft-20)
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", pictureWidth, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="white"/>`+"\n", pictureWidth, height)
	fmt.Fprintf(b, `<text x="10" y="18" font-size="14">From 202 to Completed: p50 to p99 (medians of the rounds), and all that was measured</text>`+"\n")
	for n := range decades + 1 {
		at := x(math.Pow10(n))
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%.0f ms</text>`+"\n",
			at, at, pictureUp-10, height-20, at, pictureUp-16, math.Pow10(n))
	}
	colours := map[string]string{"queue": "#1b6ca8", "stream": "#3d8b40", "batch": "#d9822b"}
	for i, way := range ways {
		p50, p99 := way.spread(WayRound.p50), way.spread(WayRound.p99)
		y, colour := pictureUp+rowHeight*i+rowHeight/2, colours[string(way.Scheduler)]
		fmt.Fprintf(b, `<text x="10" y="%d">%s, %d partitions, <tspan fill="%s">%s</tspan></text>`+"\n", y+4, way.Backends, way.Partitions, colour, way.Scheduler)
		fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%d" y2="%d" stroke="%s"/>`, x(p50.Min), x(p99.Max), y, y, colour)
		fmt.Fprintf(b, `<rect x="%.1f" y="%d" width="%.1f" height="10" fill="%s"/>`+"\n", x(p50.Median), y-5, max(2, x(p99.Median)-x(p50.Median)), colour)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}
