package cosmos

import "github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"

// Request units as docs/capacity.md counts them, by Microsoft Learn, "Optimize
// request cost in Azure Cosmos DB": a point read of 1 KB is 1 and of 100 KB 10; to
// create an item of 1 KB without an index is 5.5, and by an earlier version of the
// page 50 for 100 KB; a replace is twice a create. What lies between is straight.
// What an indexed path adds, and what a query costs besides its reading, nobody has
// published: these are our guesses. Reads are those of an account with Session
// consistency.

const indexedPathCharge = 0.5

func readCharge(bytes int) float64 { return 1 + beyondFirst(bytes)*9/99 }

// createCharge is for a deletion, too.
func createCharge(i *item) float64 {
	charge := 5.5 + beyondFirst(i.size)*0.45
	for _, value := range i.terms {
		if value.Kind() != sql.Undefined {
			charge += indexedPathCharge
		}
	}
	return charge
}

func replaceCharge(i *item) float64 { return 2 * createCharge(i) }

func queryCharge(loadedItems, loadedBytes int) float64 {
	return 2.3 + 0.03*float64(loadedItems) + 0.2*float64(loadedBytes)/1024
}

// beyondFirst is how many KB a size has beyond the first.
func beyondFirst(bytes int) float64 { return max(0, float64(bytes)/1024-1) }
