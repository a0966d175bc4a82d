package host

import (
	"context"
	"errors"
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
