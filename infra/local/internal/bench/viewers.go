package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
)

// What a browser asks for that has the operators' page open, below the host's prefix:
// the page once, and then how things stand, at an interval. A test holds it to
// shared/page.
var pageFiles = []string{"ops", "ops/page.css", "ops/page.js", "ops/config"}

const (
	pageAsks  = "operations/status"
	pageEvery = 5 * time.Second
)

const (
	// viewedMost is how much longer accepting may take for the slowest of a hundred
	// while the page is open.
	viewedMost = 1.05
	// statusMost is what a status may cost, in request units.
	statusMost = 20
)

// Viewed are the latencies of one round: of accepting with nobody at the page, of
// accepting with viewers, and of what these ask for.
type Viewed struct {
	Viewers int          `json:"viewers"`
	Without load.Latency `json:"without"`
	With    load.Latency `json:"with"`
	Page    load.Latency `json:"page"`
}

// viewers compares accepting with the page open and without, in turns, at the same
// rate, while what is accepted runs over mock backends.
func (b *bench) viewers(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, "-latency", b.Latency.String())
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	app, err := b.Serve(ctx, b.Samples.Mocked(mock.URL))
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	s := b.stream(app)
	defer s.client.Close()
	if _, err := s.full(ctx, clients, max(1, b.Backlog/4)); err != nil { // which warms it up
		return nil, err
	}
	if _, err := b.drain(ctx, app); err != nil {
		return nil, err
	}
	v := newViewers(app.URL, b.Viewers)
	defer v.close()
	if err := v.open(ctx); err != nil {
		return nil, err
	}
	o = &Outcome{}
	var ids []string
	for round := range b.Rounds {
		r := Viewed{Viewers: b.Viewers}
		for side := range 2 { // who is first changes with each round
			looking, into := side != round%2, &r.Without
			if looking {
				into = &r.With
			}
			accepting, page := b.viewed(ctx, s, v, looking)
			if _, err := accepted(accepting); err != nil {
				return nil, err
			}
			if looking {
				if _, err := accepted(page); err != nil {
					return nil, fmt.Errorf("the page: %w", err)
				}
				r.Page = page.Latency
			}
			*into = accepting.Latency
			ids = append(ids, accepting.IDs...)
			if _, err := b.drain(ctx, app); err != nil {
				return nil, err
			}
		}
		o.Viewed = append(o.Viewed, r)
		b.Notice(fmt.Sprintf("  round %d: accepting took %v without and %v with %d viewers (p99), who waited %v for the status", round+1,
			r.Without.P99, r.With.P99, b.Viewers, r.Page.P99))
	}
	o.Checks = append(o.Checks, viewedCheck(o.Viewed))
	charged, err := b.chargedFor(ctx, app, v)
	if err != nil {
		return nil, err
	}
	o.Checks = append(o.Checks, charged)
	return o, s.lost(ctx, o, ids)
}

// viewed offers requests for as long as a round lasts, with viewers or without.
func (b *bench) viewed(ctx context.Context, s *stream, v *viewers, looking bool) (accepting, page *load.Result) {
	var viewing sync.WaitGroup
	if looking {
		viewing.Go(func() { page = v.look(ctx, b.For) })
	}
	shape := load.Shape{{From: b.Arrivals, To: b.Arrivals, For: b.For}}
	accepting = load.Run(ctx, load.Config{Shape: shape, Send: s.send(shape.Count()), KeepIDs: true})
	viewing.Wait()
	return accepting, page
}

// viewedCheck judges how much longer accepting takes with viewers.
func viewedCheck(rounds []Viewed) Check {
	ratio := viewedSpread(rounds, func(v Viewed) float64 { return v.With.P99.Seconds() / v.Without.P99.Seconds() })
	return Check{
		What: fmt.Sprintf("p99 of accepting with %d viewers, times that without", rounds[0].Viewers), Want: fmt.Sprintf("<= %.2f", viewedMost),
		Got: ratio.text("%.2f"), Met: ratio.Median <= viewedMost,
	}
}

// chargedFor has the viewers look while nothing else goes on, and judges what a request
// of theirs costs: no answer tells that. The reports of the instances are in it, too.
func (b *bench) chargedFor(ctx context.Context, app *Process, v *viewers) (Check, error) {
	before, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return Check{}, err
	}
	r := v.look(ctx, b.For)
	after, err := load.Scrape(ctx, app.URL)
	if _, failed := accepted(r); err != nil || failed != nil {
		return Check{}, errors.Join(err, failed)
	}
	units := after.Since(before).Units[cosmosdb.CheckpointsContainer] / float64(max(1, r.Accepted))
	return Check{What: fmt.Sprintf("RU of a status for viewers, in the mean of %d", r.Accepted), Want: fmt.Sprintf("<= %d", statusMost),
		Got: fmt.Sprintf("%.1f", units), Met: units <= statusMost}, nil
}

// viewers are browsers that have the page open, each with connections of its own.
type viewers struct {
	api     string // the app's URL with the host's prefix
	clients []*http.Client
}

func newViewers(app string, n int) *viewers {
	v := &viewers{api: app + "/api/"}
	for range n {
		v.clients = append(v.clients, &http.Client{Transport: &http.Transport{}, Timeout: 10 * time.Second})
	}
	return v
}

func (v *viewers) close() {
	for _, c := range v.clients {
		c.CloseIdleConnections()
	}
}

// open opens the page in each browser.
func (v *viewers) open(ctx context.Context) error {
	for _, c := range v.clients {
		for _, path := range append(pageFiles, pageAsks) {
			if err := v.get(ctx, c, path); err != nil {
				return err
			}
		}
	}
	return nil
}

// look asks what the open pages ask, in turns: each at its interval, whether it has the
// answer to its last request or not, and not all at once.
func (v *viewers) look(ctx context.Context, lasts time.Duration) *load.Result {
	rate := float64(len(v.clients)) / pageEvery.Seconds()
	shape := load.Shape{{From: rate, To: rate, For: max(lasts, time.Duration(float64(time.Second)/rate))}} // one request at least
	return load.Run(ctx, load.Config{Shape: shape, Send: func(ctx context.Context, n int) load.Answer {
		if err := v.get(ctx, v.clients[n%len(v.clients)], pageAsks); err != nil {
			return load.Answer{Outcome: load.Failed, Err: err}
		}
		return load.Answer{}
	}})
}

func (v *viewers) get(ctx context.Context, c *http.Client, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.api+path, nil)
	if err != nil {
		return err
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: status %d: %s", path, resp.StatusCode, text)
	}
	return err
}

func viewedSpread(rounds []Viewed, value func(Viewed) float64) Spread {
	var values []float64
	for _, r := range rounds {
		values = append(values, value(r))
	}
	return spreadOf(values)
}

const viewedColumns = "scenario | viewers | accepting p50 ms | p99 ms | the page's status p50 ms | p99 ms"

func viewedRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		if len(o.Viewed) == 0 {
			continue
		}
		ms := func(of func(Viewed) time.Duration) string {
			return viewedSpread(o.Viewed, func(v Viewed) float64 { return milliseconds(of(v)) }).text("%.1f")
		}
		rows = append(rows, fmt.Sprintf("| %s | 0 | %s | %s | | |\n", o.Scenario, ms(func(v Viewed) time.Duration { return v.Without.P50 }), ms(func(v Viewed) time.Duration { return v.Without.P99 })),
			fmt.Sprintf("| %s | %d | %s | %s | %s | %s |\n", o.Scenario, o.Viewed[0].Viewers, ms(func(v Viewed) time.Duration { return v.With.P50 }),
				ms(func(v Viewed) time.Duration { return v.With.P99 }), ms(func(v Viewed) time.Duration { return v.Page.P50 }), ms(func(v Viewed) time.Duration { return v.Page.P99 })))
	}
	return rows
}
