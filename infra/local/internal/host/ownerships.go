package host

import (
	"context"
	"errors"
	"slices"
	"sync"

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
}

func newOwnerships(s azeventhubs.CheckpointStore) *ownerships {
	return &ownerships{CheckpointStore: s, lost: map[string]context.CancelCauseFunc{}}
}

// ClaimOwnership ends the readers of the partitions that weren't claimed.
func (o *ownerships) ClaimOwnership(ctx context.Context, claims []azeventhubs.Ownership, options *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
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
