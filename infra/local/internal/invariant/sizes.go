package invariant

import "github.com/fabrikam/drone-delivery/shared/cosmosdb"

// Document is what one stored document takes, as the service gives it back.
type Document struct {
	Container, ID string
	Bytes         int
}

const kib = 1 << 10

// bounds are the largest documents, in bytes, of each container. Cosmos DB
// refuses one of more than 2 MB
// (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits),
// and then nobody can change it any more. So what grows with what clients do has
// to stop far below that.
var bounds = map[string]int{
	// Half of what Cosmos DB takes: two requests of 64 KiB, the operations on
	// record, the changes that wait, and the history.
	cosmosdb.TransactionsContainer: 1024 * kib,
	// Ids, a hash, a state and a reason.
	cosmosdb.RequestsContainer: 8 * kib,
	// An event of 1 MB, the largest that a hub takes, in base64, with its
	// properties and what operators did.
	cosmosdb.QuarantineContainer: 1536 * kib,
	cosmosdb.AccountsContainer:   4 * kib,
	// A journal has an entry of some 300 bytes for each revision, and there are
	// two at most for each operation on record.
	cosmosdb.BookingsContainer:    256 * kib,
	cosmosdb.AssignmentsContainer: 256 * kib,
	cosmosdb.DeliveriesContainer:  256 * kib,
	// The same, and the tombstones of all who had the package before.
	cosmosdb.PackagesContainer:    256 * kib,
	cosmosdb.DronesContainer:      16 * kib,
	cosmosdb.CheckpointsContainer: 4 * kib,
}

func checkSizes(x *index, f *findings) {
	for _, d := range x.Documents {
		f.checked++
		if most := bounds[d.Container]; d.Bytes > most {
			f.broken(d.ID, "too large", "its document in %s has %d bytes, the most are %d", d.Container, d.Bytes, most)
		}
	}
}
