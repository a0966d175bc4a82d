package host

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// errOwnershipLost ends the work on a partition that another instance owns
// now.
var errOwnershipLost = errors.New("another instance owns the partition")

// ownerships is the checkpoint store of one processor. It watches which
// partitions the processor gets when it claims, because the SDK doesn't tell
// the partition's reader that one was taken away.
type ownerships struct {
	azeventhubs.CheckpointStore

	mu   sync.Mutex
	lost map[string]context.CancelCauseFunc // of the partitions being read
	held []azeventhubs.Ownership            // as they were last claimed
	// insist is until when the processor goes on with what it holds, whoever owns
	// it.
	insist time.Time
}

func newOwnerships(s azeventhubs.CheckpointStore) *ownerships {
	return &ownerships{CheckpointStore: s, lost: map[string]context.CancelCauseFunc{}}
}

// ClaimOwnership ends the readers of the partitions that weren't claimed.
func (o *ownerships) ClaimOwnership(ctx context.Context, claims []azeventhubs.Ownership, options *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	if held := o.insisted(); held != nil {
		return slices.DeleteFunc(slices.Clone(claims), func(c azeventhubs.Ownership) bool { return held[c.PartitionID].PartitionID == "" }), nil
	}
	got, err := o.CheckpointStore.ClaimOwnership(ctx, claims, options)
	if err != nil {
		return got, err
	}
	kept := make(map[string]bool, len(got))
	for _, c := range got {
		kept[c.PartitionID] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.held = slices.Clone(got)
	for id, lost := range o.lost {
		if !kept[id] {
			lost(errOwnershipLost)
		}
	}
	return got, nil
}

// watch registers the reader of a partition until forget is called.
func (o *ownerships) watch(partition string, lost context.CancelCauseFunc) (forget func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost[partition] = lost
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.lost, partition)
	}
}

// lose gives each partition that is held to an owner of its own, as if so many
// other instances had taken one each, and returns how many went. Each to
// another: whom one owner has too many, load balancing takes them back at once.
func (o *ownerships) lose(ctx context.Context) (int, error) {
	o.mu.Lock()
	taken := slices.Clone(o.held)
	o.mu.Unlock()
	for i := range taken {
		taken[i].OwnerID = "another/" + taken[i].PartitionID
	}
	got, err := o.CheckpointStore.ClaimOwnership(ctx, taken, nil)
	return len(got), err
}

// insistUntil has the processor go on, until then, with the partitions that it
// holds, and no longer tell anyone: the others see its claims end, and take them
// over. It returns how many partitions that are.
func (o *ownerships) insistUntil(end time.Time) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.insist = end
	return len(o.held)
}

// insisted returns the partitions that the processor goes on with, nil if it
// asks before it does.
func (o *ownerships) insisted() map[string]azeventhubs.Ownership {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !time.Now().Before(o.insist) {
		return nil
	}
	held := make(map[string]azeventhubs.Ownership, len(o.held))
	for _, c := range o.held {
		held[c.PartitionID] = c
	}
	return held
}

// ListOwnership shows a processor that insists its own claims as they were.
func (o *ownerships) ListOwnership(ctx context.Context, namespace, hub, group string, options *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	all, err := o.CheckpointStore.ListOwnership(ctx, namespace, hub, group, options)
	if held := o.insisted(); held != nil {
		for i, c := range all {
			if mine, is := held[c.PartitionID]; is {
				mine.LastModifiedTime = time.Now()
				all[i] = mine
			}
		}
	}
	return all, err
}
