package invariant

import (
	"slices"
	"strings"

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

// besides are the bounds of what lies beside the checkpoints, by the beginning of the id.
var besides = []struct {
	prefix string
	bytes  int
}{
	{"shards", 1024 * kib}, // the map, with all the pins of callers that have the ids of Entra ID
	// What operators are told: partitions, instances and shards with their figures, some
	// hundred bytes each.
	{"status", 128 * kib}, {"survey", 128 * kib}, {"report.", 128 * kib},
}

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
		for _, b := range besides {
			if d.Container == cosmosdb.CheckpointsContainer && strings.HasPrefix(d.ID, b.prefix) {
				most = b.bytes
			}
		}
		if d.Bytes > most {
			f.Broken(d.ID, "too large", "its document in %s has %d bytes, the most are %d", d.Container, d.Bytes, most)
		}
	}
}
