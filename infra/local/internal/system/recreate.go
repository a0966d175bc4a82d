package system

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// recreatePause is between two looks whether Relay has caught up. While it has
// not, the hub takes no events for drainTime, then some again for as long.
const (
	recreatePause = 50 * time.Millisecond
	drainTime     = 5 * time.Second
)

// recreateHub deletes the hub and creates it again, as soon as Relay has handed
// over all that is in it: so nothing that was accepted is lost by it. Then it does
// what docs/operations.md tells an operator to do, and deletes the trigger's own
// checkpoints, which are of the old hub.
func (s *System) recreateHub(ctx context.Context) (err error) {
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.endpoints.CosmosDB}, cosmosdb.Options{Database: s.app.Database})
	if err != nil {
		return fmt.Errorf("recreate the hub: %w", err)
	}
	defer db.Close()
	positions := cosmosdb.NewCheckpoints(db)
	hold := func(hold bool) error { return s.Emulators.Broker.HoldHub(s.app.EventHub, hold) }
	defer func() { err = errors.Join(err, hold(false)) }()
	tick := time.NewTicker(recreatePause)
	defer tick.Stop()
	for begun := time.Now(); ; {
		if err := hold(time.Since(begun)/drainTime%2 == 0); err != nil {
			return err
		}
		done, err := s.Emulators.Broker.RecreateHubIf(s.app.EventHub, func(ends []int64) bool {
			return handedOver(ctx, positions, s.app, ends)
		})
		if err != nil {
			return err
		}
		if done {
			return s.forgetCheckpoints(ctx)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// handedOver reports whether Relay has stored that it has handed over all events
// before these ends, one a partition. A position that can't be read, or is behind,
// is not there yet; one from before an earlier recreation is at another end, or
// its partition is empty.
func handedOver(ctx context.Context, positions relay.Checkpoints, app settings.Settings, ends []int64) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second) // the hub waits for it
	defer cancel()
	for partition, end := range ends {
		if end == 0 {
			continue
		}
		at, _, err := positions.Read(ctx, relay.CheckpointID(app.EventHub, app.ConsumerGroup, strconv.Itoa(partition)))
		if err != nil || at.SequenceNumber != end-1 {
			return false
		}
	}
	return true
}

// forgetCheckpoints deletes the trigger's checkpoints.
func (s *System) forgetCheckpoints(ctx context.Context) error {
	client, err := azcosmos.NewClientFromConnectionString(s.endpoints.CosmosDB, nil)
	if err != nil {
		return fmt.Errorf("forget the trigger's checkpoints: %w", err)
	}
	defer client.Close()
	container, err := client.NewContainer(runtimeDatabase, checkpointsContainer)
	if err != nil {
		return fmt.Errorf("forget the trigger's checkpoints: %w", err)
	}
	return host.ForgetCheckpoints(ctx, container)
}
