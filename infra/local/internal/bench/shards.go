package bench

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/issuer"
	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/infra/local/internal/tree"
	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Sharded is what a number of shards has come to.
type Sharded struct {
	Shards int            `json:"shards"`
	Rounds []ShardedRound `json:"rounds"`
}

// ShardedRound is one round: a backlog that comes as fast as it is accepted, and is run to
// completion in all shards.
type ShardedRound struct {
	Effort        // from the first request to the last end
	Accepted Rate `json:"acceptedPerSecond"`
}

// Rate is how many a second.
type Rate float64

// shardsMeasured are the numbers of shards that are compared.
var shardsMeasured = []int{1, 2, 4}

// flatness is how much more CPU for a request several shards may take than one.
const flatness = 1.05

// shards compares numbers of shards, in turns, with the same work; and measures how long a
// pin takes.
func (b *bench) shards(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, "-latency", b.Latency.String())
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	o = &Outcome{}
	for _, n := range shardsMeasured {
		o.Shards = append(o.Shards, Sharded{Shards: n})
	}
	for round := range b.Rounds {
		for i := range o.Shards { // who is first changes with each round
			s := &o.Shards[(i+round)%len(o.Shards)]
			r, err := b.shardedRound(ctx, mock, s.Shards)
			if err != nil {
				return nil, fmt.Errorf("%d shards: %w", s.Shards, err)
			}
			s.Rounds = append(s.Rounds, r)
			b.Notice(fmt.Sprintf("  %d shards: accepted %.0f/s, completed %.0f/s, %.3f ms CPU each", s.Shards, r.Accepted, r.Rate(), r.PerItem().Seconds()*1000))
		}
	}
	one := o.Shards[0].cpu()
	for _, s := range o.Shards[1:] {
		times := s.cpu().Median / one.Median
		o.Checks = append(o.Checks, Check{What: fmt.Sprintf("CPU for a request with %d shards, times that with one", s.Shards), Want: fmt.Sprintf("<= %.2f", flatness), Got: fmt.Sprintf("%.2f", times), Met: times <= flatness})
	}
	pins, err := b.pins(ctx, mock)
	o.Checks = append(o.Checks, pins...)
	return o, err
}

func (b *bench) shardedRound(ctx context.Context, mock *Process, shards int) (r ShardedRound, err error) {
	app, err := b.Serve(ctx, b.Samples.Mocked(mock.URL), "-shards", fmt.Sprint(shards))
	if err != nil {
		return r, err
	}
	defer closing(app, &err)
	apps, err := appsOf(ctx, app, ops.Secret{})
	if err != nil {
		return r, err
	}
	s := b.stream(app)
	defer s.client.Close()
	if _, err := s.full(ctx, clients, max(1, b.Backlog/4)); err != nil { // which warms it up
		return r, err
	}
	if err := drainAll(ctx, app, apps); err != nil {
		return r, err
	}
	r.Effort, err = scope{roots: []int{app.Pid()}}.measure(func() (int, error) {
		begun := time.Now()
		taken, err := s.full(ctx, clients, b.Backlog)
		if err != nil {
			return 0, err
		}
		r.Accepted = Rate(float64(taken) / time.Since(begun).Seconds())
		return taken, drainAll(ctx, app, apps)
	})
	return r, err
}

// appsOf returns the URLs of the apps of all shards, the front's first.
func appsOf(ctx context.Context, app *Process, secret ops.Secret) ([]string, error) {
	front, err := ops.NewClient(app.URL, secret)
	if err != nil {
		return nil, err
	}
	defer front.Close()
	v, err := front.Shards(ctx)
	urls := []string{app.URL}
	for _, s := range v.Map.Shards[min(1, len(v.Map.Shards)):] {
		urls = append(urls, s.Endpoints.App)
	}
	return urls, err
}

// drainAll waits until what the front has accepted has come to its end in the shards.
func drainAll(ctx context.Context, front *Process, apps []string) error {
	return watching(ctx, front, func(now load.Counts) bool {
		left := now.Backlog()
		for _, url := range apps[1:] {
			of, err := load.Scrape(ctx, url)
			if err != nil {
				return false
			}
			left -= int(of.Ended)
		}
		return left <= 0
	})
}

func (s Sharded) cpu() Spread {
	return s.spread(func(r ShardedRound) float64 { return milliseconds(r.PerItem()) })
}

func (s Sharded) spread(value func(ShardedRound) float64) Spread {
	var values []float64
	for _, r := range s.Rounds {
		values = append(values, value(r))
	}
	return spreadOf(values)
}

const shardColumns = "shards | accepted a second | completed a second | CPU ms each | cores busy | with others"

func shardRows(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, s := range o.Shards {
			rows = append(rows, fmt.Sprintf("| %d | %s | %s | %s | %s | %s |\n", s.Shards,
				s.spread(func(r ShardedRound) float64 { return float64(r.Accepted) }).text("%.0f"),
				s.spread(func(r ShardedRound) float64 { return r.Rate() }).text("%.0f"), s.cpu().text("%.2f"),
				s.spread(func(r ShardedRound) float64 { return 100 * r.Busy }).text("%.0f %%"),
				s.spread(func(r ShardedRound) float64 { return 100 * r.Others }).text("%.0f %%")))
		}
	}
	return rows
}

// How a pin is measured.
const (
	pinCaller = "pinned"
	pinPause  = 20 * time.Millisecond // between two requests
	// pinLimit is how long a pin may take: an instance reads the map so often, and each
	// read and request takes its time.
	pinLimit = ingest.MapRefresh + 2*time.Second
)

// pins measures how long it takes from a pin to the first id that is minted in the other shard:
// at the front that has made the change, and at another one.
func (b *bench) pins(ctx context.Context, mock *Process) (checks []Check, err error) {
	i, err := issuer.Start()
	if err != nil {
		return nil, err
	}
	defer i.Close() // it has told everything
	token := func(name string, role auth.Role) string {
		var text string
		if err == nil {
			text, err = i.Token(name, role)
		}
		return text
	}
	operator, caller := token("operator", auth.Operator), token(pinCaller, auth.Client)
	if err != nil {
		return nil, err
	}
	second, err := tree.FreePorts(1)
	if err != nil {
		return nil, err
	}
	set := b.Samples.Mocked(mock.URL)
	for name, value := range i.Settings() {
		set[name] = value
	}
	app, err := b.Serve(ctx, set, "-shards", "2", "-instances", "2", "-second-http", second[0])
	if err != nil {
		return nil, err
	}
	defer closing(app, &err)
	front, err := ops.NewClient(app.URL, ops.Secret{Token: func(context.Context) (string, error) { return operator, nil }})
	if err != nil {
		return nil, err
	}
	defer front.Close()
	minted := minting(b.Samples.Resource, caller, b.Samples.Body)
	for _, at := range []struct{ who, url string }{{"the front that has made it", app.URL}, {"another front", "http://" + second[0]}} {
		var took []time.Duration
		if err := mints(ctx, minted, at.url); err != nil {
			return checks, err
		}
		for to := shard.First; to <= 2; to++ {
			if _, err := front.ChangeShards(ctx, shard.Change{Act: shard.ActPin, Caller: issuer.CallerID(pinCaller), Shard: to}, operate.Actor{By: "bench", Why: "bench"}); err != nil {
				return checks, err
			}
			begun := time.Now()
			var last time.Time // that was minted elsewhere
			for last = begun; time.Since(last) < pinLimit && time.Since(begun) < 2*pinLimit; {
				in, err := minted(ctx, at.url)
				if err == nil && in != to {
					last = time.Now()
				}
				if err := engine.Pause(ctx, pinPause); err != nil {
					return checks, err
				}
			}
			took = append(took, last.Sub(begun))
		}
		most := slices.Max(took)
		checks = append(checks, Check{What: "s from a pin to the last id that " + at.who + " minted elsewhere, of " + fmt.Sprint(len(took)), Want: fmt.Sprintf("<= %.0f", pinLimit.Seconds()),
			Got: fmt.Sprintf("%.2f", most.Seconds()), Met: most <= pinLimit})
		b.Notice(fmt.Sprintf("  a pin, at %s: %v", at.who, took))
	}
	return checks, nil
}

// mints waits until a front mints ids.
func mints(ctx context.Context, minted func(context.Context, string) (shard.Number, error), url string) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		_, err := minted(ctx, url)
		if err == nil {
			return nil
		}
		if engine.Pause(ctx, pinPause) != nil {
			return err
		}
	}
}

// minting returns what has an id minted at a front, and tells its shard.
func minting(resource, token string, body func(int) []byte) func(ctx context.Context, url string) (shard.Number, error) {
	n := 0
	return func(ctx context.Context, url string) (shard.Number, error) {
		n++
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/api/"+resource, strings.NewReader(string(body(n))))
		if err != nil {
			return 0, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		at := strings.Split(resp.Header.Get("Location"), "/")
		if resp.StatusCode != http.StatusAccepted || len(at) < 4 {
			return 0, fmt.Errorf("%s: status %d", url, resp.StatusCode)
		}
		in, _ := shard.Claimed(at[3])
		return in, nil
	}
}
