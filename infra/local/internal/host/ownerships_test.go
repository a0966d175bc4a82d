package host

import (
	"context"
	"errors"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// granting is a checkpoint store that grants the claims of some partitions.
type granting struct {
	azeventhubs.CheckpointStore
	grant  map[string]bool
	err    error
	listed []azeventhubs.Ownership
}

func (g *granting) ListOwnership(context.Context, string, string, string, *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	return g.listed, nil
}

func (g *granting) ClaimOwnership(_ context.Context, claims []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	var out []azeventhubs.Ownership
	for _, c := range claims {
		if g.grant[c.PartitionID] {
			out = append(out, c)
		}
	}
	return out, g.err
}

func TestOwnershipsEndTheReadersOfLostPartitions(t *testing.T) {
	store := &granting{grant: map[string]bool{"0": true, "1": true}}
	o := newOwnerships(store)
	zero, lostZero := context.WithCancelCause(t.Context())
	one, lostOne := context.WithCancelCause(t.Context())
	defer o.watch("0", lostZero)()
	forgetOne := o.watch("1", lostOne)
	round := func(want error) {
		t.Helper()
		if _, err := o.ClaimOwnership(t.Context(), []azeventhubs.Ownership{ownership("0", "a"), ownership("1", "a")}, nil); !errors.Is(err, want) {
			t.Fatalf("claim: %v, want %v", err, want)
		}
	}
	round(nil)
	if zero.Err() != nil || one.Err() != nil {
		t.Fatal("a kept partition's reader ended")
	}
	store.grant, store.err = nil, errors.New("no answer")
	round(store.err)
	if zero.Err() != nil {
		t.Error("a failed claim ended a reader")
	}
	store.grant, store.err = map[string]bool{"1": true}, nil
	round(nil)
	if !errors.Is(context.Cause(zero), errOwnershipLost) || one.Err() != nil {
		t.Errorf("partition 0 %v, partition 1 %v", context.Cause(zero), one.Err())
	}
	forgetOne()
	store.grant = nil
	round(nil)
	if one.Err() != nil {
		t.Error("a forgotten reader was ended")
	}
}
