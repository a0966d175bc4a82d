package invariant

import (
	"slices"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Document is what one stored document takes, as the service gives it back.
type Document struct {
	Container, ID string
	Bytes         int
}

const kib = 1 << 10

// bounds are the largest documents, in bytes, of the system's containers. Cosmos DB
// refuses one of more than 2 MB
// (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits),
// and then nobody can change it any more. So what grows with what clients do has
// to stop far below that.
var bounds = map[string]int{
	// All the operations, history and notices that there can be, with long texts,
	// and requests and answers of 2 KiB (TestDocumentStaysBelowTheLimit of package
	// workflow).
	cosmosdb.TransactionsContainer: 960 * kib,
	// Ids, a hash, a state and a reason.
	cosmosdb.RequestsContainer: 8 * kib,
	// An event of 1 MiB, the largest that a hub takes, in base64, with its
	// properties and what operators did (TestEntriesAreBounded of package
	// quarantine).
	cosmosdb.QuarantineContainer:  1536 * kib,
	cosmosdb.CheckpointsContainer: 2 * kib,
}

// mapID is the document with the map of the shards, mapBound that of it with all the pins
// of callers that have the ids of Entra ID.
const (
	mapID    = "shards"
	mapBound = 1024 * kib
)

// bound returns the largest size of a document of a container, 0 for one that nobody knows.
// That of a record is a full journal and all the tombstones that it has room for
// (TestRecordIsBounded of package record).
func (s *Subject) bound(container string) int {
	if most := max(bounds[container], s.trial.Sizes[container]); most > 0 {
		return most
	}
	if slices.ContainsFunc(s.containers(), func(c business.Container) bool { return c.Name == container }) {
		return trial.DefaultSize
	}
	return 0
}

func checkSizes(x *index, f *trial.Findings) {
	for _, d := range x.Documents {
		f.Checked++
		most := x.bound(d.Container)
		if d.Container == cosmosdb.CheckpointsContainer && d.ID == mapID {
			most = mapBound
		}
		if d.Bytes > most {
			f.Broken(d.ID, "too large", "its document in %s has %d bytes, the most are %d", d.Container, d.Bytes, most)
		}
	}
}
