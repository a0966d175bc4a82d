package contract

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
)

const adaptersDatabase = "adapters"

// adaptersMessaging serves the queues and hubs of cfg, and returns the
// connection string and what breaks every connection, as a failover does.
func adaptersMessaging(t *testing.T, cfg broker.Config) (connection string, failover func()) {
	t.Helper()
	connection, failover, _ = adaptersBroker(t, cfg)
	return connection, failover
}

// adaptersBroker is adaptersMessaging that returns the broker as well.
func adaptersBroker(t *testing.T, cfg broker.Config) (connection string, failover func(), _ *broker.Broker) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(t.Output(), nil))
	cfg.KeyName, cfg.Key = "RootManageSharedAccessKey", "c2VjcmV0"
	b, err := broker.New(cfg, store.NewMemory(), logger)
	if err != nil {
		t.Fatal(err)
	}
	options := amqp.Options{Logger: logger, HTTP: http.HandlerFunc(b.Administer)}
	address, stop := adaptersListen(t, b, "127.0.0.1:0", options)
	t.Cleanup(func() {
		stop()
		if err := b.Close(); err != nil {
			t.Errorf("close broker: %v", err)
		}
	})
	return b.ConnectionString(address), func() {
		stop()
		_, stop = adaptersListen(t, b, address, options)
	}, b
}

// adaptersListen serves a broker until it is stopped.
func adaptersListen(t *testing.T, b *broker.Broker, at string, o amqp.Options) (address string, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	server := amqp.NewServer(b, o)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	return listener.Addr().String(), func() {
		if err := server.Close(); err != nil {
			t.Errorf("close server: %v", err)
		}
		<-served // it ends because it was closed
	}
}

// adaptersCosmos serves an account with the system's database and containers,
// and returns the connection string.
func adaptersCosmos(t *testing.T) string {
	t.Helper()
	return adaptersAccount(t, cosmos.Config{RangesPerContainer: 3})
}

// adaptersAccount is adaptersCosmos with a configuration.
func adaptersAccount(t *testing.T, cfg cosmos.Config) string {
	t.Helper()
	account, err := cosmos.New(cfg, store.NewMemory())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(account)
	t.Cleanup(func() {
		server.Close()
		if err := account.Close(); err != nil {
			t.Errorf("close account: %v", err)
		}
	})
	connection := account.ConnectionString(strings.TrimPrefix(server.URL, "http://"))
	client, err := azcosmos.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.CreateDatabase(t.Context(), azcosmos.DatabaseProperties{ID: adaptersDatabase}, nil); err != nil {
		t.Fatal(err)
	}
	db, err := client.NewDatabase(adaptersDatabase)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cosmosdb.Containers(chosen.Business()) {
		if _, err := db.CreateContainer(t.Context(), system.ContainerProperties(c), nil); err != nil {
			t.Fatalf("create container %s: %v", c.Name, err)
		}
	}
	return connection
}

// adaptersOpen opens the database of an account of its own.
func adaptersOpen(t *testing.T) *cosmosdb.Database {
	t.Helper()
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: adaptersCosmos(t)}, cosmosdb.Options{Database: adaptersDatabase})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}
