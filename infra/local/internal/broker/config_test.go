package broker

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestConfigReportsEveryProblem(t *testing.T) {
	cfg := Config{
		KeyName: "a;b",
		Queues: []QueueConfig{
			{Name: "twice", LockDuration: time.Hour, MaxDeliveryCount: -1},
			{Name: "/", DuplicateWindow: -1, DefaultTTL: -1, MaxMessageBytes: 1 << 30},
		},
		Hubs: []HubConfig{
			{Name: "TWICE", Partitions: 33, ConsumerGroups: []string{"$default", "", "g", "G"}},
			{Name: "", Retention: -1, MaxPartitionBytes: -1},
		},
	}
	_, err := New(cfg, store.NewMemory(), slog.New(slog.DiscardHandler))
	if err == nil {
		t.Fatal("taken")
	}
	for _, problem := range []string{
		"the shared access key needs", "semicolons",
		`queue "twice": the lock duration`, `queue "twice": the max delivery count`,
		`queue "/": the name`, `queue "/": the duplicate window`, `queue "/": the default time`, `queue "/": the message size`,
		`event hub "TWICE": the name is used twice`, `event hub "TWICE": there must be 1 to 32`,
		`consumer group "$default" is there twice`, `"" can't be the name of a consumer group`, `consumer group "G" is there twice`,
		`event hub "": the name`, `event hub "": there must be`, `event hub "": the retention`, `event hub "": the size`,
	} {
		if !strings.Contains(err.Error(), problem) {
			t.Errorf("not reported: %s", problem)
		}
	}
}

func TestConnectionString(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	want := "Endpoint=sb://127.0.0.1:5672;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=secret;UseDevelopmentEmulator=true"
	if got := b.ConnectionString("127.0.0.1:5672"); got != want {
		t.Errorf("got %s", got)
	}
}

// TestRecoveryRefusesDamage: a store that can't be read stops the broker.
func TestRecoveryRefusesDamage(t *testing.T) {
	for _, key := range []string{"servicebus/orders/what", "eventhubs/hub/partitions/1/what", "eventhubs/hub/hub"} {
		s := store.NewMemory()
		var b store.Batch
		b.Put(key, []byte("x"))
		if err := store.Apply(s, b); err != nil {
			t.Fatal(err)
		}
		if _, err := New(testConfig(), s, slog.New(slog.DiscardHandler)); err == nil {
			t.Errorf("%s: taken", key)
		}
	}
}
