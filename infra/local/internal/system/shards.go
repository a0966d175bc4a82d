package system

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// MaxShards is how many run on one machine.
const MaxShards = 8

// InShard returns the name that something has in a shard which has another one in the
// first.
func InShard(name string, n int) string {
	if n <= int(shard.First) {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}

// inShard returns the settings with other names of what a shard has for itself: those
// of the first are the app's own.
func inShard(s settings.Settings, n int) settings.Settings {
	for _, name := range []*string{&s.EventHub, &s.TransactionsQueue, &s.CompensationsQueue, &s.NotificationsQueue, &s.Database} {
		*name = InShard(*name, n)
	}
	return s
}

// allEntities are the entities of so many shards, in one namespace.
func allEntities(s settings.Settings, shards, partitions int) broker.Config {
	all := entities(s, partitions)
	for n := 2; n <= shards; n++ {
		of := entities(inShard(s, n), partitions)
		all.Hubs, all.Queues = append(all.Hubs, of.Hubs...), append(all.Queues, of.Queues...)
	}
	return all
}

// startStamps starts the apps that work on the further shards, behind the front and its
// backends, and then puts the first mapped shards into the map. front is the app of the
// front.
func (s *System) startStamps(ctx context.Context, front InstanceConfig, shards, mapped int) error {
	if shards < 2 {
		return nil
	}
	s.stopped = make(chan *Instance, shards)
	for n := 2; n <= shards; n++ {
		app, of := front, inShard(s.app, n)
		app.Name, app.Stamp = StampName(n), "-"+strconv.Itoa(n)
		app.Settings = maps.Clone(s.set)
		maps.Copy(app.Settings, map[string]string{
			"SHARD": strconv.Itoa(n), "EVENTHUB_NAME": of.EventHub, "COSMOSDB_DATABASE": of.Database,
			"TRANSACTIONS_QUEUE": of.TransactionsQueue, "COMPENSATIONS_QUEUE": of.CompensationsQueue, "NOTIFICATIONS_QUEUE": of.NotificationsQueue,
		})
		switchOff(app.Settings, append(BackendFunctions(true), "Ingest", "Progress"), nil)
		for _, name := range backendURLs() {
			if app.Settings[name] == "" && os.Getenv(name) == "" {
				app.Settings[name] = "http://" + s.Instance.Address() + "/api"
			}
		}
		i, err := startAfter(ctx, app)
		if err != nil {
			return fmt.Errorf("start shard %d: %w", n, err)
		}
		s.stamps = append(s.stamps, i)
		go func() {
			<-i.Finished()
			s.stopped <- i
		}()
	}
	return s.mapShards(ctx, mapped)
}

// StampName is the name of the instance that works on a further shard.
func StampName(n int) string { return fmt.Sprint("shard ", n) }

// mapTries is how often a change of the map is tried at the start.
const mapTries = 3

// mapShards puts the first shards into the map that aren't there, mapped in all, and says where
// the apps of those in the map are, which changes with each start.
func (s *System) mapShards(ctx context.Context, mapped int) error {
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.endpoints.CosmosDB}, cosmosdb.Options{Database: s.app.Database})
	if err != nil {
		return err
	}
	defer db.Close()
	stored := ingest.NewShards(ingest.ShardsConfig{
		Maps: cosmosdb.NewMaps(db), Alone: shard.Alone(shard.Endpoints{Hub: s.app.EventHub, Database: s.app.Database}), Now: time.Now,
		Logger: s.Instance.c.Logger,
	})
	for n, app := range s.Stamps() {
		number := shard.Number(n + 2)
		of, app := inShard(s.app, int(number)), "http://"+app
		change := shard.Change{
			Act: shard.ActAdd, Name: fmt.Sprint("shard-", number), Weight: 100, Endpoints: shard.Endpoints{Hub: of.EventHub, Database: of.Database, App: app},
		}
		m, _ := stored.Map(ctx)
		if !m.Has(number) && int(number) > mapped {
			continue
		}
		if m.Has(number) { // it may have another weight by now, or be closed
			change = shard.Change{Act: shard.ActApp, Shard: number, Endpoints: shard.Endpoints{App: app}}
		}
		for try := 1; ; try++ { // the app serves: an operator may be quicker
			_, _, _, err := stored.Change(ctx, change, "serve", fmt.Sprintf("started with %d shards", 1+len(s.stamps)))
			if err == nil {
				break
			}
			if try == mapTries {
				return fmt.Errorf("%s shard %d: %w", change.Act, number, err)
			}
		}
	}
	return nil
}

// Stamps returns the addresses of the further shards' apps, from the second.
func (s *System) Stamps() []string {
	var at []string
	for _, i := range s.stamps {
		at = append(at, i.Address())
	}
	return at
}

// instances are all that run, the front and its backends last.
func (s *System) instances() []*Instance {
	return slices.DeleteFunc(append(slices.Clone(s.stamps), s.Instance, s.Backends), func(i *Instance) bool { return i == nil })
}
