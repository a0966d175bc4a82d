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
	// All the operations, history and notices that there can be, with long texts,
	// and requests and answers of 2 KiB (TestDocumentStaysBelowTheLimit of package
	// workflow).
	cosmosdb.TransactionsContainer: 960 * kib,
	// Ids, a hash, a state and a reason.
	cosmosdb.RequestsContainer: 8 * kib,
	// An event of 1 MiB, the largest that a hub takes, in base64, with its
	// properties and what operators did (TestEntriesAreBounded of package
	// quarantine).
	cosmosdb.QuarantineContainer: 1536 * kib,
	cosmosdb.AccountsContainer:   4 * kib,
	// A full journal and all the tombstones that a record has room for
	// (TestRecordIsBounded of package record).
	cosmosdb.PackagesContainer:    64 * kib,
	cosmosdb.BookingsContainer:    64 * kib,
	cosmosdb.AssignmentsContainer: 64 * kib,
	// The same, and what receivers have sent: 128 KiB of confirmations, and their
	// wishes for a notice.
	cosmosdb.DeliveriesContainer:  224 * kib,
	cosmosdb.DronesContainer:      8 * kib,
	cosmosdb.CheckpointsContainer: 2 * kib,
}

func checkSizes(x *index, f *findings) {
	for _, d := range x.Documents {
		f.checked++
		if most := bounds[d.Container]; d.Bytes > most {
			f.broken(d.ID, "too large", "its document in %s has %d bytes, the most are %d", d.Container, d.Bytes, most)
		}
	}
}
