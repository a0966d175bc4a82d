package host

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/google/go-cmp/cmp"

	adapter "github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// kept is a CheckpointStore with two partitions of one hub.
type kept struct{ azeventhubs.CheckpointStore }

var renewed = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

func (kept) ListOwnership(_ context.Context, namespace, hub, group string, _ *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	if namespace != "ns.example" || hub != "h" {
		return nil, nil
	}
	return []azeventhubs.Ownership{
		{ConsumerGroup: group, PartitionID: "0", OwnerID: "one/Relay", LastModifiedTime: renewed},
		{ConsumerGroup: group, PartitionID: "1", LastModifiedTime: renewed}, // given back
	}, nil
}

func (kept) ClaimOwnership(context.Context, []azeventhubs.Ownership, *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	return nil, nil
}

func (kept) ListCheckpoints(_ context.Context, namespace, hub, group string, _ *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	if namespace != "ns.example" || hub != "h" {
		return nil, nil
	}
	return []azeventhubs.Checkpoint{{ConsumerGroup: group, PartitionID: "0", SequenceNumber: to.Ptr[int64](41), Offset: to.Ptr("4100")}}, nil
}

// Ensure that the app finds checkpoints and owners as it does in Azure, with the
// SDK and the signature, and nobody anything else.
func TestStorageShowsCheckpointsToTheApp(t *testing.T) {
	f := start(t, spec{
		functions: map[string]string{"Relay": `{"bindings":[{"type":"eventHubTrigger","name":"events","direction":"in","eventHubName":"h","consumerGroup":"Relay","connection":"Hubs"}]}`},
		settings:  map[string]string{"Hubs": "Endpoint=sb://127.0.0.1:1;SharedAccessKeyName=n;SharedAccessKey=azE=;UseDevelopmentEmulator=true"},
		change:    func(c *Config) { c.Checkpoints, c.StorageSignature = kept{}, "secret" },
	})
	address := strings.TrimPrefix(f.url, "http://")
	reader := func(signature, namespace string) *adapter.Triggers {
		return adapter.OpenTriggers(adapter.Connection{ConnectionString: StorageConnection(address, signature)},
			adapter.Connection{ConnectionString: "Endpoint=sb://" + namespace + ":5671;SharedAccessKeyName=n;SharedAccessKey=azE="}, adapter.Options{Retries: -1})
	}
	for namespace, want := range map[string][]relay.Claim{
		"NS.example": {
			{ConsumerGroup: "relay", Partition: "0", Owner: "one/Relay", RenewedAt: renewed, Checkpoint: 41},
			{ConsumerGroup: "relay", Partition: "1", RenewedAt: renewed, Checkpoint: -1},
		},
		"other.example": {},
	} {
		got, err := reader("secret", namespace).Claims(t.Context(), "h")
		if err != nil {
			t.Fatal(err)
		}
		if len(got) == 2 && got[0].Partition == "1" { // they have no order
			got[0], got[1] = got[1], got[0]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
	for _, signature := range []string{"", "other"} {
		if _, err := reader(signature, "ns.example").Claims(t.Context(), "h"); err == nil || !strings.Contains(err.Error(), "AuthenticationFailed") {
			t.Errorf("signature %q: %v", signature, err)
		}
	}
	client, err := container.NewClientFromConnectionString(StorageConnection(address, "secret"), storageContainer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Delete(t.Context(), nil); !bloberror.HasCode(err, "NotImplemented") {
		t.Errorf("delete: %v", err)
	}
	for _, prefix := range []string{"", "ns.example/"} {
		if _, err := client.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix}).NextPage(t.Context()); !bloberror.HasCode(err, "InvalidQueryParameterValue") {
			t.Errorf("prefix %q: %v", prefix, err)
		}
	}
}
