package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"golang.org/x/sync/errgroup"
)

// claimsAtOnce bounds the claims of one round in flight.
const claimsAtOnce = 16

// cosmosCheckpoints keeps ownership and checkpoints as one document per
// partition each.
type cosmosCheckpoints struct {
	container *azcosmos.ContainerClient
}

// checkpointDocument is an ownership or a checkpoint. Scope and kind are what
// lists are filtered by.
type checkpointDocument struct {
	ID             string  `json:"id"`
	Scope          string  `json:"scope"`
	Kind           string  `json:"kind"`
	Partition      string  `json:"partition"`
	Owner          string  `json:"owner,omitempty"`
	Offset         *string `json:"offset,omitempty"`
	SequenceNumber *int64  `json:"sequenceNumber,omitempty"`

	ETag      string `json:"_etag,omitempty"`
	Timestamp int64  `json:"_ts,omitempty"` // the service's clock, Unix seconds
}

// NewCosmosCheckpoints keeps ownership and checkpoints in a Cosmos DB
// container with the partition key /id. Claims are conditional on ETags, so
// that of two instances one gets a partition. The port of a namespace doesn't
// count: an emulator may come back on another one.
func NewCosmosCheckpoints(container *azcosmos.ContainerClient) azeventhubs.CheckpointStore {
	return &cosmosCheckpoints{container: container}
}

const (
	kindOwnership  = "ownership"
	kindCheckpoint = "checkpoint"
)

// scopeOf names a consumer group; it has no character that a document id may
// not have.
func scopeOf(namespace, hub, group string) string {
	if host, _, err := net.SplitHostPort(namespace); err == nil {
		namespace = host
	}
	scope := strings.ToLower(namespace + "|" + hub + "|" + group)
	return strings.NewReplacer("/", "_", `\`, "_", "?", "_", "#", "_").Replace(scope)
}

func newCheckpointDocument(kind, namespace, hub, group, partition string) checkpointDocument {
	scope := scopeOf(namespace, hub, group)
	return checkpointDocument{ID: scope + "|" + kind + "|" + partition, Scope: scope, Kind: kind, Partition: partition}
}

// ClaimOwnership writes each ownership if it is as the claimer has seen it,
// and gives those that were written.
func (s *cosmosCheckpoints) ClaimOwnership(ctx context.Context, claims []azeventhubs.Ownership, _ *azeventhubs.ClaimOwnershipOptions) ([]azeventhubs.Ownership, error) {
	results := make([]*azeventhubs.Ownership, len(claims))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(claimsAtOnce)
	for i, c := range claims {
		g.Go(func() error {
			got, err := s.claim(ctx, c)
			results[i] = got
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	var out []azeventhubs.Ownership
	for _, r := range results {
		if r != nil {
			out = append(out, *r)
		}
	}
	return out, nil
}

// claim writes one ownership; nil when another instance was quicker.
func (s *cosmosCheckpoints) claim(ctx context.Context, c azeventhubs.Ownership) (*azeventhubs.Ownership, error) {
	doc := newCheckpointDocument(kindOwnership, c.FullyQualifiedNamespace, c.EventHubName, c.ConsumerGroup, c.PartitionID)
	doc.Owner = c.OwnerID
	body, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	key := azcosmos.NewPartitionKeyString(doc.ID)
	options := &azcosmos.ItemOptions{EnableContentResponseOnWrite: true}
	var resp azcosmos.ItemResponse
	if c.ETag == nil {
		resp, err = s.container.CreateItem(ctx, key, body, options)
	} else {
		options.IfMatchEtag = c.ETag
		resp, err = s.container.ReplaceItem(ctx, key, doc.ID, body, options)
	}
	if hasStatus(err, http.StatusConflict, http.StatusPreconditionFailed, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("claim partition %s of %s: %w", c.PartitionID, doc.Scope, err)
	}
	if err := json.Unmarshal(resp.Value, &doc); err != nil {
		return nil, fmt.Errorf("claim partition %s of %s: %w", c.PartitionID, doc.Scope, err)
	}
	etag := resp.ETag
	c.ETag, c.LastModifiedTime = &etag, time.Unix(doc.Timestamp, 0)
	return &c, nil
}

// ListOwnership lists the ownerships of a consumer group.
func (s *cosmosCheckpoints) ListOwnership(ctx context.Context, namespace, hub, group string, _ *azeventhubs.ListOwnershipOptions) ([]azeventhubs.Ownership, error) {
	docs, err := s.list(ctx, kindOwnership, scopeOf(namespace, hub, group))
	out := make([]azeventhubs.Ownership, len(docs))
	for i, d := range docs {
		etag := azcore.ETag(d.ETag)
		out[i] = azeventhubs.Ownership{
			FullyQualifiedNamespace: namespace, EventHubName: hub, ConsumerGroup: group, PartitionID: d.Partition,
			OwnerID: d.Owner, LastModifiedTime: time.Unix(d.Timestamp, 0), ETag: &etag,
		}
	}
	return out, err
}

// ListCheckpoints lists the checkpoints of a consumer group.
func (s *cosmosCheckpoints) ListCheckpoints(ctx context.Context, namespace, hub, group string, _ *azeventhubs.ListCheckpointsOptions) ([]azeventhubs.Checkpoint, error) {
	docs, err := s.list(ctx, kindCheckpoint, scopeOf(namespace, hub, group))
	out := make([]azeventhubs.Checkpoint, len(docs))
	for i, d := range docs {
		out[i] = azeventhubs.Checkpoint{
			FullyQualifiedNamespace: namespace, EventHubName: hub, ConsumerGroup: group, PartitionID: d.Partition,
			Offset: d.Offset, SequenceNumber: d.SequenceNumber,
		}
	}
	return out, err
}

// list filters across partitions; the SDK has no query engine, so it only
// filters.
func (s *cosmosCheckpoints) list(ctx context.Context, kind, scope string) ([]checkpointDocument, error) {
	pager := s.container.NewQueryItemsPager("SELECT * FROM c WHERE c.scope = @scope AND c.kind = @kind", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@scope", Value: scope}, {Name: "@kind", Value: kind}},
	})
	var out []checkpointDocument
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list %s of %s: %w", kind, scope, err)
		}
		for _, item := range page.Items {
			var d checkpointDocument
			if err := json.Unmarshal(item, &d); err != nil {
				return nil, fmt.Errorf("list %s of %s: %w", kind, scope, err)
			}
			out = append(out, d)
		}
	}
	return out, nil
}

// SetCheckpoint writes a checkpoint without a condition, as the SDK's own
// store does.
func (s *cosmosCheckpoints) SetCheckpoint(ctx context.Context, c azeventhubs.Checkpoint, _ *azeventhubs.SetCheckpointOptions) error {
	doc := newCheckpointDocument(kindCheckpoint, c.FullyQualifiedNamespace, c.EventHubName, c.ConsumerGroup, c.PartitionID)
	doc.Offset, doc.SequenceNumber = c.Offset, c.SequenceNumber
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	if _, err := s.container.UpsertItem(ctx, azcosmos.NewPartitionKeyString(doc.ID), body, nil); err != nil {
		return fmt.Errorf("checkpoint partition %s of %s: %w", c.PartitionID, doc.Scope, err)
	}
	return nil
}

// ForgetCheckpoints deletes all checkpoints in a container of
// NewCosmosCheckpoints, but no ownership: what an operator does after a hub was
// recreated, so that triggers begin anew. A trigger that works on a batch of the
// old hub may still store its end.
func ForgetCheckpoints(ctx context.Context, container *azcosmos.ContainerClient) error {
	pager := container.NewQueryItemsPager("SELECT * FROM c WHERE c.kind = @kind", azcosmos.NewPartitionKey(), &azcosmos.QueryOptions{
		QueryParameters: []azcosmos.QueryParameter{{Name: "@kind", Value: kindCheckpoint}},
	})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if err != nil {
			return fmt.Errorf("list checkpoints: %w", err)
		}
		for _, item := range page.Items {
			var d checkpointDocument
			if err := json.Unmarshal(item, &d); err != nil {
				return fmt.Errorf("read checkpoint: %w", err)
			}
			if _, err := container.DeleteItem(ctx, azcosmos.NewPartitionKeyString(d.ID), d.ID, nil); err != nil && !hasStatus(err, http.StatusNotFound) {
				return fmt.Errorf("delete checkpoint %s: %w", d.ID, err)
			}
		}
	}
	return nil
}

// hasStatus reports whether an error is an answer with one of these statuses.
func hasStatus(err error, statuses ...int) bool {
	var resp *azcore.ResponseError
	if !errors.As(err, &resp) {
		return false
	}
	for _, s := range statuses {
		if resp.StatusCode == s {
			return true
		}
	}
	return false
}
