package host

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// cosmosTimers keeps one document per timer: its state and the lease on it.
type cosmosTimers struct {
	container *azcosmos.ContainerClient
}

type timerDocument struct {
	ID          string    `json:"id"`
	Owner       string    `json:"owner,omitempty"`
	LeaseUntil  time.Time `json:"leaseUntil"`
	Last        time.Time `json:"last"`
	Next        time.Time `json:"next"`
	LastUpdated time.Time `json:"lastUpdated"`
}

func (d timerDocument) state() TimerState {
	return TimerState{Last: d.Last, Next: d.Next, LastUpdated: d.LastUpdated}
}

// NewCosmosTimers keeps timers in a Cosmos DB container with the partition key
// /id. Every write is conditional on the ETag that was read. The clocks of the
// instances must agree well within the length of a lease.
func NewCosmosTimers(container *azcosmos.ContainerClient) TimerStore {
	return &cosmosTimers{container: container}
}

func (s *cosmosTimers) Acquire(ctx context.Context, timer, owner string, now, until time.Time) (TimerState, bool, error) {
	doc, etag, err := s.read(ctx, timer)
	if err != nil {
		return TimerState{}, false, err
	}
	if doc.Owner != "" && doc.Owner != owner && now.Before(doc.LeaseUntil) {
		return TimerState{}, false, nil
	}
	doc.Owner, doc.LeaseUntil = owner, until
	written, err := s.write(ctx, doc, etag)
	return doc.state(), written, err
}

func (s *cosmosTimers) Save(ctx context.Context, timer, owner string, state TimerState) error {
	return s.change(ctx, timer, owner, ErrTimerLeaseLost, func(d *timerDocument) {
		d.Last, d.Next, d.LastUpdated = state.Last, state.Next, state.LastUpdated
	})
}

func (s *cosmosTimers) Release(ctx context.Context, timer, owner string) error {
	return s.change(ctx, timer, owner, nil, func(d *timerDocument) { d.Owner, d.LeaseUntil = "", time.Time{} })
}

// change edits a document that is owner's; notOwner is the error if it isn't.
// The owner's own renewals may come between read and write: then it reads
// again.
func (s *cosmosTimers) change(ctx context.Context, timer, owner string, notOwner error, edit func(*timerDocument)) error {
	for {
		doc, etag, err := s.read(ctx, timer)
		if err != nil {
			return err
		}
		if doc.Owner != owner {
			return notOwner
		}
		edit(&doc)
		written, err := s.write(ctx, doc, etag)
		if err != nil || written {
			return err
		}
	}
}

// read gives a timer's document; a new one without ETag where there is none.
func (s *cosmosTimers) read(ctx context.Context, timer string) (timerDocument, *azcore.ETag, error) {
	doc := timerDocument{ID: timer}
	resp, err := s.container.ReadItem(ctx, azcosmos.NewPartitionKeyString(timer), timer, nil)
	if hasStatus(err, http.StatusNotFound) {
		return doc, nil, nil
	}
	if err != nil {
		return doc, nil, fmt.Errorf("read timer %s: %w", timer, err)
	}
	if err := json.Unmarshal(resp.Value, &doc); err != nil {
		return doc, nil, fmt.Errorf("read timer %s: %w", timer, err)
	}
	return doc, &resp.ETag, nil
}

// write reports whether the document was still as it was read.
func (s *cosmosTimers) write(ctx context.Context, doc timerDocument, etag *azcore.ETag) (bool, error) {
	body, err := json.Marshal(doc)
	if err != nil {
		return false, err
	}
	key := azcosmos.NewPartitionKeyString(doc.ID)
	if etag == nil {
		_, err = s.container.CreateItem(ctx, key, body, nil)
	} else {
		_, err = s.container.ReplaceItem(ctx, key, doc.ID, body, &azcosmos.ItemOptions{IfMatchEtag: etag})
	}
	if hasStatus(err, http.StatusConflict, http.StatusPreconditionFailed, http.StatusNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("write timer %s: %w", doc.ID, err)
	}
	return true, nil
}
