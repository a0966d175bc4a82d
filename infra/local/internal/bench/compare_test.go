package bench

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
)

// Ensure that latencies are from the 202 to the end, of those that have ended.
func TestLatencies(t *testing.T) {
	at := time.Now()
	taken := &taken{begun: at, at: map[string]time.Time{}}
	ends := map[string]time.Time{}
	for n := range 200 {
		id := string(rune('a'+n%26)) + strings.Repeat("x", n)
		taken.at[id] = at.Add(time.Second)
		ends[id] = at.Add(time.Second + time.Duration(n+1)*time.Millisecond)
	}
	taken.at["open"] = at
	if got, want := taken.latencies(ends), (Latencies{100 * time.Millisecond, 198 * time.Millisecond}); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	if got := taken.until(ends); got != 1200*time.Millisecond {
		t.Errorf("the last ended after %v", got)
	}
	if got := taken.latencies(map[string]time.Time{"open": at.Add(-time.Millisecond)}); got != (Latencies{}) {
		t.Errorf("ended before its 202: %v", got)
	}
	if got := taken.latencies(nil); got != (Latencies{}) {
		t.Errorf("of none: %v", got)
	}
	c := &comparison{}
	c.ended(taken, ends)
	if got := c.check("here"); !got.Lost || got.Met || got.What != "lost of 201 accepted, here" || got.Got != "1" {
		t.Errorf("%+v", got)
	}
}

// compared has one way with three rounds and one with none stopped.
func compared() []*Outcome {
	round := func(took, p50, p99 time.Duration) WayRound {
		return WayRound{
			Effort: Effort{Done: 100, Took: took, CPU: 200 * time.Millisecond, Busy: 0.5}, Latencies: Latencies{p50, p99},
			Counts: load.Counts{Operations: map[string]float64{"transactions": 200, "checkpoints": 50}, Sent: 10, Taken: 5},
		}
	}
	second := time.Second
	return []*Outcome{{
		Scenario: "compare",
		Ways: []Way{
			{Backends: "5ms", Partitions: 4, Scheduler: "stream", Stopped: &Stopped{100, 1, 9, 2, 3, 1500 * time.Millisecond, 5 * second}, Rounds: []WayRound{
				round(second, 10*time.Millisecond, 100*time.Millisecond), round(2*second, 20*time.Millisecond, 200*time.Millisecond), round(4*second, 40*time.Millisecond, 400*time.Millisecond),
			}},
			{Backends: "tail", Partitions: 1, Scheduler: "batch", Rounds: []WayRound{round(second, 0, 200*second)}},
		},
		Trades: []Trade{{10, 300, 100, 100, 12, &Stopped{Accepted: 400, Recognized: 7, CallsAgain: 5, EventsAgain: 6}}, {Batches: 100, Events: 300, Invoked: 90, Own: 90, Host: 3}},
	}}
}

func TestTablesOfWays(t *testing.T) {
	want := []string{
		"| 5ms | 4 | stream | 50 (25 to 100) | 20 (10 to 40) | 200 (100 to 400) | 2.00 (2.00 to 2.00) | 2.5 (2.5 to 2.5) | 0.20 (0.20 to 0.20) | 50 % (50 % to 50 %) | 1 of 100 | 9 | 2 | 3 | 1.5 | 5.0 |\n",
		"| tail | 1 | batch | 100 (100 to 100) | 0 (0 to 0) | 200000 (200000 to 200000) | 2.00 (2.00 to 2.00) | 2.5 (2.5 to 2.5) | 0.20 (0.20 to 0.20) | 50 % (50 % to 50 %) |  | | | | |  |\n",
	}
	if diff := cmp.Diff(want, wayRows(compared())); diff != "" {
		t.Error(diff)
	}
	want = []string{"| 10 | 300 | 100 | 100 | 12 | 400 | 0 | 7 | 5 | 6 |\n", "| 100 | 300 | 90 | 90 | 3 |  | | | |  |\n"}
	if diff := cmp.Diff(want, tradeRows(compared())); diff != "" {
		t.Error(diff)
	}
	settled := []*Outcome{{Settled: []Settled{{"PeekLock", 4000, 3, 2, 1, 1200, 150 * time.Microsecond, 5 * time.Second}}}}
	if diff := cmp.Diff([]string{"| PeekLock | 4000 | 3 | 2 | 1 | 1200 | 0.150 | 5.0 |\n"}, settledRows(settled)); diff != "" {
		t.Error(diff)
	}
	for columns, rows := range map[string][]string{wayColumns: wayRows(compared()), tradeColumns: tradeRows(compared())} {
		for _, row := range rows {
			if got := strings.Count(row, "|"); got != strings.Count(columns, "|")+2 {
				t.Errorf("%d columns: %s", got-1, row)
			}
		}
	}
}

// Ensure that the picture is one, with a bar for each way within it.
func TestPictureOfLatencies(t *testing.T) {
	var b strings.Builder
	if err := WriteSVG(&b, compared()); err != nil {
		t.Fatal(err)
	}
	type bar struct {
		X     float64 `xml:"x,attr"`
		Width float64 `xml:"width,attr"`
		Fill  string  `xml:"fill,attr"`
	}
	var bars []bar
	decoder := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "rect" {
			var found bar
			if err := decoder.DecodeElement(&found, &start); err != nil {
				t.Fatal(err)
			}
			bars = append(bars, found)
		}
	}
	// A decade is 118 pixels: from 20 to 200 ms is one; from 0 ms to 200 s is all.
	want := []bar{{0, 800, "white"}, {343.5, 118, "#3d8b40"}, {190, 590, "#d9822b"}}
	if diff := cmp.Diff(want, bars); diff != "" {
		t.Error(diff)
	}
}
