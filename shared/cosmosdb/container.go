package cosmosdb

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// DefaultPage is the number of documents in a page unless asked otherwise.
const DefaultPage = 100

// Container has the operations on the documents of one container. All their
// errors are failures whose kind failure.KindOf tells. A write that failed with
// a transient failure may have taken effect; since the client repeats such
// writes, even a Conflict may be with one's own. It is safe for concurrent use.
type Container struct {
	db   *Database
	name string
}

var _ business.Documents = (*Container)(nil)

// Container returns the container with that name. Whether it exists shows
// with the first operation.
func (db *Database) Container(name string) *Container { return &Container{db: db, name: name} }

// use runs an operation on the container's client.
func (c *Container) use(operation func(*azcosmos.ContainerClient) error) error {
	return c.db.account.use(func(client *azcosmos.Client) error {
		container, err := client.NewContainer(c.db.id, c.name)
		if err != nil {
			return err
		}
		return operation(container)
	})
}

// Read returns a document and its ETag. NotFound if there is none.
func (c *Container) Read(ctx context.Context, partitionKey, id string) (doc []byte, etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	var r azcosmos.ItemResponse
	err = c.use(func(client *azcosmos.ContainerClient) (err error) {
		r, err = client.ReadItem(ctx, azcosmos.NewPartitionKeyString(partitionKey), id, nil)
		return err
	})
	if err != nil {
		return nil, "", c.judge(ctx, "read", id, err)
	}
	return r.Value, string(r.ETag), nil
}

// Create stores a new document and returns its ETag. Conflict if the id is
// taken in its partition.
func (c *Container) Create(ctx context.Context, partitionKey, id string, doc []byte) (etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	err = c.use(func(client *azcosmos.ContainerClient) error {
		r, err := client.CreateItem(ctx, azcosmos.NewPartitionKeyString(partitionKey), doc, nil)
		etag = string(r.ETag)
		return err
	})
	return etag, c.judge(ctx, "create", id, err)
}

// Replace stores a document in place of the one that has the ETag, and returns
// the new ETag. Conflict if the ETag is another, NotFound if there is no
// document.
func (c *Container) Replace(ctx context.Context, partitionKey, id string, doc []byte, etag string) (newETag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	match := azcore.ETag(etag)
	err = c.use(func(client *azcosmos.ContainerClient) error {
		r, err := client.ReplaceItem(ctx, azcosmos.NewPartitionKeyString(partitionKey), id, doc,
			&azcosmos.ItemOptions{IfMatchEtag: &match})
		newETag = string(r.ETag)
		return err
	})
	return newETag, c.judge(ctx, "replace", id, err)
}

// Upsert stores a document whether there is one or not, and returns its ETag.
func (c *Container) Upsert(ctx context.Context, partitionKey, id string, doc []byte) (etag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	err = c.use(func(client *azcosmos.ContainerClient) error {
		r, err := client.UpsertItem(ctx, azcosmos.NewPartitionKeyString(partitionKey), doc, nil)
		etag = string(r.ETag)
		return err
	})
	return etag, c.judge(ctx, "upsert", id, err)
}

// Delete removes a document. NotFound if there is none.
func (c *Container) Delete(ctx context.Context, partitionKey, id string) error {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	err := c.use(func(client *azcosmos.ContainerClient) error {
		_, err := client.DeleteItem(ctx, azcosmos.NewPartitionKeyString(partitionKey), id, nil)
		return err
	})
	return c.judge(ctx, "delete", id, err)
}

// Page returns a page of what a query selects, in no order, and the
// continuation of the next page ("" after the last). A page may be empty and
// still have a continuation. Invalid for a continuation that no page gave: people
// have given it.
func (c *Container) Page(ctx context.Context, q business.Query) (docs [][]byte, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.db.timeout)
	defer cancel()
	key := azcosmos.NewPartitionKey()
	if q.PartitionKey != nil {
		key = azcosmos.NewPartitionKeyString(*q.PartitionKey)
	}
	options := &azcosmos.QueryOptions{PageSizeHint: int32(q.Max)}
	if q.Max <= 0 {
		options.PageSizeHint = DefaultPage
	}
	if q.Continuation != "" {
		options.ContinuationToken = &q.Continuation
	}
	// In one order: a continuation goes with the query that it was given for, to
	// the letter.
	for _, name := range slices.Sorted(maps.Keys(q.Parameters)) {
		options.QueryParameters = append(options.QueryParameters, azcosmos.QueryParameter{Name: name, Value: q.Parameters[name]})
	}
	var r azcosmos.QueryItemsResponse
	err = c.use(func(client *azcosmos.ContainerClient) (err error) {
		r, err = client.NewQueryItemsPager(q.Text, key, options).NextPage(ctx)
		return err
	})
	var answer *azcore.ResponseError
	if q.Continuation != "" && errors.As(err, &answer) && answer.StatusCode == http.StatusBadRequest {
		return nil, "", failure.New(failure.Invalid, "query", c.name, errors.New("the continuation belongs to another list"))
	}
	if err != nil {
		return nil, "", c.judge(ctx, "query", "", err)
	}
	if r.ContinuationToken != nil {
		next = *r.ContinuationToken
	}
	return r.Items, next, nil
}

func (c *Container) judge(ctx context.Context, op, id string, err error) error {
	if id != "" {
		id = c.name + "/" + id
	} else {
		id = c.name
	}
	return judge(ctx, op, id, err)
}
