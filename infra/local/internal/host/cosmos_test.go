package host

import (
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

const namespace = "127.0.0.1:5672"

func ownership(partition, owner string) azeventhubs.Ownership {
	return azeventhubs.Ownership{FullyQualifiedNamespace: namespace, EventHubName: "hub", ConsumerGroup: "$Default", PartitionID: partition, OwnerID: owner}
}

func claim(t *testing.T, s azeventhubs.CheckpointStore, claims ...azeventhubs.Ownership) []azeventhubs.Ownership {
	t.Helper()
	got, err := s.ClaimOwnership(t.Context(), claims, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCosmosOwnership(t *testing.T) {
	container, _ := containers(t)
	s := NewCosmosCheckpoints(container)
	got := claim(t, s, ownership("0", "a"), ownership("1", "a"))
	if len(got) != 2 || got[0].PartitionID != "0" || got[0].ETag == nil || time.Since(got[0].LastModifiedTime) > time.Minute {
		t.Fatalf("claimed: %+v", got)
	}
	if lost := claim(t, s, ownership("0", "b")); len(lost) != 0 {
		t.Errorf("a partition was created twice: %+v", lost)
	}
	stale := got[0]
	renewed := claim(t, s, got[0])
	if len(renewed) != 1 || *renewed[0].ETag == *stale.ETag {
		t.Fatalf("renewed: %+v", renewed)
	}
	stale.OwnerID = "b"
	if lost := claim(t, s, stale); len(lost) != 0 {
		t.Errorf("a partition was taken with an old ETag: %+v", lost)
	}
	stale.ETag = renewed[0].ETag
	if taken := claim(t, s, stale); len(taken) != 1 {
		t.Errorf("a partition was not taken with the current ETag")
	}
	// An emulator may come back on another port: the ownership is the same.
	list, err := s.ListOwnership(t.Context(), "127.0.0.1:1234", "HUB", "$default", nil)
	if err != nil {
		t.Fatal(err)
	}
	owners := map[string]string{}
	for _, o := range list {
		owners[o.PartitionID] = o.OwnerID
		if o.ETag == nil || o.EventHubName != "HUB" {
			t.Errorf("listed: %+v", o)
		}
	}
	if len(owners) != 2 || owners["0"] != "b" || owners["1"] != "a" {
		t.Errorf("owners: %v", owners)
	}
	if list, err := s.ListOwnership(t.Context(), namespace, "hub", "another", nil); err != nil || len(list) != 0 {
		t.Errorf("another group: %+v, %v", list, err)
	}
}

func TestCosmosCheckpoints(t *testing.T) {
	container, _ := containers(t)
	s := NewCosmosCheckpoints(container)
	claim(t, s, ownership("0", "a"))
	for _, sequence := range []int64{4, 5} {
		err := s.SetCheckpoint(t.Context(), azeventhubs.Checkpoint{FullyQualifiedNamespace: namespace, EventHubName: "hub", ConsumerGroup: "$Default",
			PartitionID: "0", Offset: to.Ptr("100"), SequenceNumber: &sequence}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.ListCheckpoints(t.Context(), namespace, "hub", "$Default", nil)
	if err != nil || len(list) != 1 || *list[0].SequenceNumber != 5 || *list[0].Offset != "100" || list[0].PartitionID != "0" {
		t.Errorf("checkpoints: %+v, %v", list, err)
	}
	// Who owns the partitions stays when the checkpoints are forgotten.
	if err := ForgetCheckpoints(t.Context(), container); err != nil {
		t.Fatal(err)
	}
	list, err = s.ListCheckpoints(t.Context(), namespace, "hub", "$Default", nil)
	owners, err2 := s.ListOwnership(t.Context(), namespace, "hub", "$Default", nil)
	if err != nil || err2 != nil || len(list) != 0 || len(owners) != 1 {
		t.Errorf("checkpoints %+v, ownerships %+v, %v, %v", list, owners, err, err2)
	}
}
