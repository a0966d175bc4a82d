package system

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// The key of Microsoft's own emulators, which tools know.
const (
	keyName = "RootManageSharedAccessKey"
	key     = "SAS_KEY_VALUE"
)

// DefaultPartitions is how many partitions the hub has, unless it is told
// otherwise. MaxPartitions is the most that Event Hubs has without a dedicated
// cluster or Premium units (Microsoft Learn, "Azure Event Hubs quotas and limits").
const (
	DefaultPartitions = 4
	MaxPartitions     = 32
)

// TailGroup is the consumer group for people who read beside Relay.
const TailGroup = "tail"

// runtimeDatabase holds what the runtime itself keeps: the Event Hubs
// checkpoints and the state of timers, which the real host keeps in a storage
// account.
const (
	runtimeDatabase      = "runtime"
	checkpointsContainer = "checkpoints"
	timersContainer      = "timers"
)

// runtimeContainers are those for an app; see InstanceConfig.Stamp.
func runtimeContainers(stamp string) []cosmosdb.ContainerSpec {
	return []cosmosdb.ContainerSpec{
		{Name: checkpointsContainer, PartitionKey: "/id"},
		{Name: timersContainer + stamp, PartitionKey: "/id"},
	}
}

// entities are the hub, with so many partitions, and the queues that the app's
// settings name.
func entities(s settings.Settings, partitions int) broker.Config {
	queue := func(name string) broker.QueueConfig {
		return broker.QueueConfig{
			Name:               name,
			LockDuration:       s.Budgets.MessageLock,
			MaxDeliveryCount:   s.Budgets.MaxDeliveryCount,
			DuplicateWindow:    s.Budgets.DuplicateWindow,
			DefaultTTL:         s.Budgets.QueueTTL,
			DeadLetterOnExpiry: true,
		}
	}
	return broker.Config{
		KeyName: keyName, Key: key,
		Queues: []broker.QueueConfig{queue(s.TransactionsQueue), queue(s.CompensationsQueue), queue(s.NotificationsQueue)},
		Hubs: []broker.HubConfig{{
			Name: s.EventHub, Partitions: partitions,
			ConsumerGroups: []string{s.ConsumerGroup, TailGroup}, Retention: s.Budgets.HubRetention,
		}},
	}
}

// createContainers makes the database and the containers, those excepted that
// are there already.
func createContainers(ctx context.Context, client *azcosmos.Client, database string, containers []cosmosdb.ContainerSpec) error {
	_, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: database}, nil)
	if err != nil && !exists(err) {
		return fmt.Errorf("create database %s: %w", database, err)
	}
	db, err := client.NewDatabase(database)
	if err != nil {
		return fmt.Errorf("open database %s: %w", database, err)
	}
	for _, c := range containers {
		if _, err := db.CreateContainer(ctx, ContainerProperties(c), nil); err != nil && !exists(err) {
			return fmt.Errorf("create container %s: %w", c.Name, err)
		}
	}
	return nil
}

// ContainerProperties are those that infra/modules/cosmos.bicep gives a container.
func ContainerProperties(c cosmosdb.ContainerSpec) azcosmos.ContainerProperties {
	p := azcosmos.ContainerProperties{
		ID:                     c.Name,
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{c.PartitionKey}, Version: 2},
		IndexingPolicy: &azcosmos.IndexingPolicy{
			Automatic: true, IndexingMode: azcosmos.IndexingModeConsistent,
			ExcludedPaths: []azcosmos.ExcludedPath{{Path: "/*"}},
		},
	}
	for _, field := range c.Indexed {
		path := "/" + strings.ReplaceAll(field, ".", "/") + "/?"
		p.IndexingPolicy.IncludedPaths = append(p.IndexingPolicy.IncludedPaths, azcosmos.IncludedPath{Path: path})
	}
	if c.DefaultTTLSeconds != 0 {
		ttl := int32(c.DefaultTTLSeconds)
		p.DefaultTimeToLive = &ttl
	}
	return p
}

func exists(err error) bool {
	var answer *azcore.ResponseError
	return errors.As(err, &answer) && answer.StatusCode == http.StatusConflict
}
