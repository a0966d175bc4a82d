package load

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

// Plot is a chart of lines over the time of a run, which is written as SVG.
type Plot struct {
	Title, Unit string
	Every       time.Duration // between two values; 0: a second
	Log         bool          // the values, which must be above 0 then, are shown as powers of ten
	Lines       []Line
}

// Line is one line of a Plot: a value for each second, or Every. It has gaps where the value
// is NaN.
type Line struct {
	Name   string
	Values []float64
}

// Plots returns the latencies and the counts of a run.
func (r *Result) Plots() (latency, backlog Plot) {
	latency = Plot{Title: "Latency of accepted requests, from the moment at which they were due", Unit: "ms", Log: true}
	backlog = Plot{Title: "Requests a second, and accepted ones that wait for their end", Unit: ""}
	of := func(value func(Point) float64) []float64 {
		var values []float64
		for _, p := range r.Points {
			values = append(values, value(p))
		}
		return values
	}
	ms := func(d func(Latency) time.Duration) []float64 {
		return of(func(p Point) float64 {
			if p.Latency.Count == 0 {
				return math.NaN()
			}
			return float64(d(p.Latency)) / float64(time.Millisecond)
		})
	}
	latency.Lines = []Line{
		{"p50", ms(func(l Latency) time.Duration { return l.P50 })},
		{"p99", ms(func(l Latency) time.Duration { return l.P99 })},
		{"max", ms(func(l Latency) time.Duration { return l.Max })},
	}
	backlog.Lines = []Line{
		{"offered", of(func(p Point) float64 { return float64(p.Offered) })},
		{"accepted", of(func(p Point) float64 { return float64(p.Accepted) })},
		{"waiting", of(func(p Point) float64 {
			if !p.State.Known {
				return math.NaN()
			}
			return float64(p.State.Counts.Backlog())
		})},
	}
	return latency, backlog
}

// The size of a plot in pixels, and the places around its axes.
const (
	plotWidth, plotHeight   = 800, 320
	left, right, top, below = 70, 20, 50, 35
)

var colours = []string{"#1b6ca8", "#d9822b", "#b3282d", "#3d8b40"}

// WriteSVG writes the plot.
func (p Plot) WriteSVG(w io.Writer) error {
	b := &strings.Builder{}
	seconds, low, high := p.bounds()
	x := func(second int) float64 {
		return left + float64(second)/float64(max(1, seconds-1))*(plotWidth-left-right)
	}
	y := func(value float64) float64 {
		return plotHeight - below - (p.scaled(value)-p.scaled(low))/(p.scaled(high)-p.scaled(low))*(plotHeight-top-below)
	}
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="white"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<text x="%d" y="18" font-size="14">%s</text>`+"\n", left, escaped(p.Title))
	for _, value := range p.marks(low, high) {
		fmt.Fprintf(b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>`, left, plotWidth-right, y(value), y(value))
		fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, y(value)+4, strings.TrimSpace(decimalMark(value)+" "+p.Unit))
	}
	for i := range 5 {
		second := i * (seconds - 1) / 4
		label := fmt.Sprintf("%d s", second)
		if p.Every > 0 {
			label = (time.Duration(second) * p.Every).String()
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x(second), plotHeight-below+18, label)
	}
	for i, l := range p.Lines {
		colour := colours[i%len(colours)]
		fmt.Fprintf(b, `<text x="%d" y="36" fill="%s">%s</text>`+"\n", left+i*110, colour, escaped(l.Name))
		fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", l.path(x, y), colour)
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// path is the line in SVG's words.
func (l Line) path(x func(int) float64, y func(float64) float64) string {
	var b strings.Builder
	command := "M"
	for second, value := range l.Values {
		if math.IsNaN(value) {
			command = "M"
			continue
		}
		fmt.Fprintf(&b, "%s%.1f %.1f ", command, x(second), y(value))
		command = "L"
	}
	return strings.TrimSpace(b.String())
}

// scaled is how high a value stands, in no unit.
func (p Plot) scaled(value float64) float64 {
	if p.Log {
		return math.Log10(value)
	}
	return value
}

// bounds returns how long the longest line is, and what the axis of the values
// spans: it begins at 0, or goes over whole powers of ten.
func (p Plot) bounds() (seconds int, low, high float64) {
	low, high = math.Inf(1), 0
	for _, l := range p.Lines {
		seconds = max(seconds, len(l.Values))
		for _, value := range l.Values {
			if !math.IsNaN(value) {
				low, high = min(low, value), max(high, value)
			}
		}
	}
	if !p.Log {
		return seconds, 0, max(1, high)
	}
	if high <= 0 {
		return seconds, 1, 10
	}
	low = math.Pow(10, math.Floor(math.Log10(low)))
	return seconds, low, max(10*low, math.Pow(10, math.Ceil(math.Log10(high))))
}

// marks returns where the axis has lines: at powers of ten, or at quarters.
func (p Plot) marks(low, high float64) []float64 {
	var all []float64
	if p.Log {
		for value := low; value <= high*1.001; value *= 10 {
			all = append(all, value)
		}
		return all
	}
	for i := range 5 {
		all = append(all, low+float64(i)*(high-low)/4)
	}
	return all
}

func decimalMark(value float64) string {
	if value >= 10 || value == 0 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%g", math.Round(value*1000)/1000)
}

func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}
