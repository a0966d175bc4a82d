package cosmosdb

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// The system's own containers.
const (
	TransactionsContainer = "transactions"
	RequestsContainer     = "requests"
	QuarantineContainer   = "quarantine"
	CheckpointsContainer  = "checkpoints" // Relay's; the map of the shards; what the status is made of
)

// ContainerSpec is how a container has to be made.
type ContainerSpec struct {
	Name string
	// PartitionKey is the path of the partition key, such as "/id".
	PartitionKey string
	// DefaultTTLSeconds is the default time to live of the documents: 0 means
	// that none expires, -1 that those expire which have a ttl of their own. Where
	// it is positive, a document's own ttl counts, be it shorter or longer: requests
	// and the quarantine follow DOCUMENT_TTL_DAYS, like transactions.
	DefaultTTLSeconds int
	// Indexed are the fields, with dots between their parts, that queries compare
	// besides the id and the partition key.
	Indexed []string
}

const thirtyDays = 30 * 24 * 60 * 60

// Containers returns all containers: the system's own and those of its business.
// Whoever makes the database (infra/main.bicep, the local runtime) is held to it.
func Containers(b business.Business) []ContainerSpec {
	indexed := []string{"caller", "outbox.at", "state", "wakeAt"}
	if b.Key != "" {
		indexed = slices.Insert(indexed, 2, "request."+b.Key)
	}
	all := []ContainerSpec{
		{TransactionsContainer, "/id", -1, indexed},
		{RequestsContainer, "/id", thirtyDays, nil},
		{QuarantineContainer, "/source", thirtyDays, []string{"reason", "state", "transactionId"}},
		{CheckpointsContainer, "/id", -1, nil},
	}
	for _, backend := range b.Backends {
		for _, c := range backend.Containers {
			ttl := 0
			if c.Expires {
				ttl = -1
			}
			all = append(all, ContainerSpec{c.Name, c.PartitionKey, ttl, c.Indexed})
		}
	}
	return all
}
