package cosmos

// Request units, as Microsoft Learn gives them in "Request Units in Azure Cosmos
// DB": 1 to read an item of 1 KB by id and partition key, a bit over 5 to write
// one; queries by what they load.

func readCharge(bytes int) float64 { return float64(max(1, (bytes+1023)/1024)) }

func writeCharge(bytes int) float64 { return 5.52 + 0.19*float64((bytes+1023)/1024) }

func queryCharge(loadedItems, loadedBytes int) float64 {
	return 2.27 + 0.03*float64(loadedItems) + 0.2*float64(loadedBytes/1024)
}
