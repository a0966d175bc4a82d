package messaging

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/relay"
)

// triggersContainer is where the Event Hubs extension of the Functions host keeps
// a blob per partition and kind, named namespace/hub/group/kind/partition in lower
// case; what there is to know is in its metadata (azure-sdk-for-net,
// Microsoft.Azure.WebJobs.Extensions.EventHubs and BlobCheckpointStoreInternal).
const triggersContainer = "azure-webjobs-eventhub"

// Triggers reads what the host keeps of its Event Hubs triggers. It is safe for
// concurrent use, and needs no Close.
type Triggers struct {
	blobs     *container.Client
	namespace string // of the hub, in lower case, without a port
	timeout   time.Duration
	fault     error // of the connections; then there is nothing else
}

var _ relay.Triggers = (*Triggers)(nil)

// OpenTriggers returns the Triggers of a namespace, whose host has that storage:
// its Namespace is the URL of the account's blob service. It connects with its
// first operation. Only operators look at it, and a storage that this code can't
// read is the host's all the same: so each operation tells what is wrong.
func OpenTriggers(storage, hubs Connection, o Options) *Triggers {
	t := &Triggers{}
	t.fault = t.open(storage, hubs, o)
	return t
}

func (t *Triggers) open(storage, hubs Connection, o Options) error {
	o, err := o.complete(storage)
	if err != nil {
		return err
	}
	t.timeout, t.namespace = o.Timeout, hubs.Namespace
	if hubs.ConnectionString != "" {
		properties, err := azeventhubs.ParseConnectionString(hubs.ConnectionString)
		if err != nil {
			return err
		}
		t.namespace = properties.FullyQualifiedNamespace
	}
	if host, _, err := net.SplitHostPort(t.namespace); err == nil {
		t.namespace = host
	}
	t.namespace = strings.ToLower(t.namespace)
	options := &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Telemetry: policy.TelemetryOptions{ApplicationID: o.Application},
		Retry:     policy.RetryOptions{MaxRetries: int32(o.Retries), RetryDelay: o.RetryDelay, MaxRetryDelay: o.MaxRetryDelay},
	}}
	if storage.ConnectionString != "" {
		t.blobs, err = container.NewClientFromConnectionString(storage.ConnectionString, triggersContainer, options)
	} else {
		t.blobs, err = container.NewClient(strings.TrimRight(storage.Namespace, "/")+"/"+triggersContainer, storage.Credential, options)
	}
	return err
}

// Claims returns the claims of all consumer groups on a hub, whose names are in
// lower case. There are none before the first trigger has run.
func (t *Triggers) Claims(ctx context.Context, hub string) ([]relay.Claim, error) {
	if t.fault != nil {
		return nil, failure.New(failure.Permanent, "open the host's storage of", hub, t.fault)
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	prefix := t.namespace + "/" + strings.ToLower(hub) + "/"
	type place struct{ group, partition string }
	claims := map[place]*relay.Claim{}
	pager := t.blobs.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{
		Prefix: &prefix, Include: container.ListBlobsInclude{Metadata: true},
	})
	for pager.More() {
		page, err := pager.NextPage(ctx)
		if bloberror.HasCode(err, bloberror.ContainerNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, httpFailure(ctx, "list what the triggers keep at", prefix,
				"give the identity the role Storage Blob Data Reader on the host's storage, and check its network rules", err)
		}
		for _, b := range page.Segment.BlobItems {
			parts := strings.Split(strings.TrimPrefix(*b.Name, prefix), "/")
			if len(parts) != 3 {
				continue
			}
			at := place{parts[0], parts[2]}
			c := claims[at]
			if c == nil {
				c = &relay.Claim{ConsumerGroup: at.group, Partition: at.partition, Checkpoint: -1}
				claims[at] = c
			}
			switch parts[1] {
			case "ownership":
				c.Owner = metadata(b, "ownerid")
				if b.Properties != nil && b.Properties.LastModified != nil {
					c.RenewedAt = b.Properties.LastModified.UTC()
				}
			case "checkpoint":
				if n, err := strconv.ParseInt(metadata(b, "sequencenumber"), 10, 64); err == nil {
					c.Checkpoint = n
				}
			}
		}
	}
	out := make([]relay.Claim, 0, len(claims))
	for _, c := range claims {
		out = append(out, *c)
	}
	return out, nil
}

// metadata returns a value of a blob's metadata, whose names have no case; "" if
// there is none.
func metadata(b *container.BlobItem, name string) string {
	for key, value := range b.Metadata {
		if strings.EqualFold(key, name) && value != nil {
			return *value
		}
	}
	return ""
}

// httpFailure decides what kind of failure an answer over HTTP is. refused is what
// can be done for a caller without the right.
func httpFailure(ctx context.Context, op, id, refused string, err error) error {
	kind := failure.Transient
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		err = fmt.Errorf("status %d %s", answer.StatusCode, answer.ErrorCode)
		if answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden {
			kind, err = failure.Permanent, fmt.Errorf("%w: %s", err, refused)
		}
	}
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return failure.New(kind, op, id, err)
}
