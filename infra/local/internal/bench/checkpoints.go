package bench

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Trade is what the host's positions cost when one is stored after so many batches, and
// what is read again after an instance has stopped.
type Trade struct {
	Batches int      `json:"batches"` // for one position
	Events  int      `json:"events"`  // that came at the rate
	Invoked int      `json:"invoked"` // Relay
	Own     int      `json:"own"`     // Relay's operations on its own positions
	Host    int      `json:"host"`    // writes of the host to its store: positions, and every 10 s who owns a partition
	Stopped *Stopped `json:"stopped,omitempty"`
}

// frequency is the setting of the host for it (Microsoft Learn, "Override host.json
// values").
const frequency = "AzureFunctionsJobHost__extensions__eventHubs__batchCheckpointFrequency"

// checkpoints measures the trade with the way that leaves the partitions the soonest.
func (b *bench) checkpoints(ctx context.Context) (o *Outcome, err error) {
	mock, err := b.mock(ctx, append(Backends["5ms"], "-calls")...)
	if err != nil {
		return nil, err
	}
	defer closing(mock, &err)
	o = &Outcome{}
	c := &comparison{bench: b, mock: mock}
	for _, batches := range []int{1, 10, 100} {
		t := Trade{Batches: batches}
		w := &Way{Backends: "5ms", Partitions: b.Partitions, Scheduler: settings.SchedulerStream}
		more := map[string]string{frequency: strconv.Itoa(batches)}
		if err := c.trade(ctx, w, more, &t); err != nil {
			return nil, err
		}
		if b.Partitions > 1 {
			if t.Stopped, err = c.stopped(ctx, w, more); err != nil {
				return nil, err
			}
		}
		o.Trades = append(o.Trades, t)
		b.Notice(fmt.Sprintf("  a position every %d batches: %d events, %d invocations, %d writes of the host", batches, t.Events, t.Invoked, t.Host))
	}
	o.Checks = append(o.Checks, c.check("positions less often"))
	return o, nil
}

func (c *comparison) trade(ctx context.Context, w *Way, more map[string]string, t *Trade) (err error) {
	set := c.settings(w)
	maps.Copy(set, more)
	app, err := c.Serve(ctx, set)
	if err != nil {
		return err
	}
	defer closing(app, &err)
	s := c.stream(app)
	defer s.client.Close()
	send := c.sending(s)
	shape := load.Shape{{From: c.Compare.Rate, To: c.Compare.Rate, For: c.For}}
	offer := func() error {
		if _, err := accepted(load.Run(ctx, load.Config{Shape: shape, Send: send})); err != nil {
			return err
		}
		_, err := c.drain(ctx, app)
		return err
	}
	if err := offer(); err != nil { // which warms it up
		return err
	}
	before, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return err
	}
	writes, err := hostWrites(ctx, app)
	if err != nil {
		return err
	}
	if err := offer(); err != nil {
		return err
	}
	after, err := load.Scrape(ctx, app.URL)
	if err != nil {
		return err
	}
	all, err := hostWrites(ctx, app)
	counts := after.Since(before)
	t.Events, t.Invoked, t.Own = int(counts.EventsTaken), int(counts.Invocations["Relay"]), int(counts.Operations["checkpoints"])
	t.Host = int(all - writes)
	return err
}

// hostWrites returns how many writes the store of the hosts has seen: the emulator has
// a sequence number for each, as the service has, in the header lsn.
func hostWrites(ctx context.Context, app *Process) (writes int64, err error) {
	client, err := azcosmos.NewClientFromConnectionString(app.at.CosmosDB, nil)
	if err != nil {
		return 0, err
	}
	defer client.Close()
	container, err := client.NewContainer("runtime", "checkpoints")
	if err != nil {
		return 0, err
	}
	ranges := map[string]int64{}
	pages := container.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), nil)
	for pages.More() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return 0, fmt.Errorf("read the hosts' store: %w", err)
		}
		header := page.RawResponse.Header
		of, _, _ := strings.Cut(header.Get("x-ms-session-token"), ":")
		if ranges[of], err = strconv.ParseInt(header.Get("lsn"), 10, 64); err != nil {
			return 0, fmt.Errorf("read the hosts' store: header lsn: %w", err)
		}
	}
	for _, n := range ranges {
		writes += n
	}
	return writes, nil
}
