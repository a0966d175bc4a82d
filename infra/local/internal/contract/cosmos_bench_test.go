package contract

import (
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// BenchmarkDurableReplace replaces documents, one for each client, in an account
// that keeps everything on disk.
func BenchmarkDurableReplace(b *testing.B) {
	disk, err := store.OpenDisk(b.TempDir(), store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	account, err := cosmos.New(cosmos.Config{}, disk)
	if err != nil {
		b.Fatal(err)
	}
	l := listenCounted(b)
	server := &http.Server{Handler: account}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	b.Cleanup(func() {
		server.Close() // what it says is of no use to a benchmark
		<-served
		account.Close()
		disk.Close()
	})
	client, err := azcosmos.NewClientFromConnectionString(account.ConnectionString(l.Addr().String()), &azcosmos.ClientOptions{
		ClientOptions: azcore.ClientOptions{Transport: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchmarkClients}}},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(client.Close)
	if _, err := client.CreateDatabase(b.Context(), azcosmos.DatabaseProperties{ID: "d"}, nil); err != nil {
		b.Fatal(err)
	}
	database, err := client.NewDatabase("d")
	if err != nil {
		b.Fatal(err)
	}
	if _, err := database.CreateContainer(b.Context(), cosmosProperties("/id", 2), nil); err != nil {
		b.Fatal(err)
	}
	container, err := database.NewContainer("c")
	if err != nil {
		b.Fatal(err)
	}
	document := func(id string) []byte {
		return []byte(`{"id":"` + id + `","text":"` + strings.Repeat("x", benchmarkBody) + `"}`)
	}
	ids := make(chan string, benchmarkClients) // those that nobody replaces now
	var last atomic.Int64
	each(b, benchmarkClients, func() error {
		id := strconv.FormatInt(last.Add(1), 10)
		_, err := container.CreateItem(b.Context(), azcosmos.NewPartitionKeyString(id), document(id), nil)
		ids <- id
		return err
	})
	besideEcho(b, l, func() {
		each(b, b.N, func() error {
			id := <-ids
			defer func() { ids <- id }()
			_, err := container.ReplaceItem(b.Context(), azcosmos.NewPartitionKeyString(id), id, document(id), nil)
			return err
		})
	})
}
