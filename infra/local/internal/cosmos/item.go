package cosmos

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

const (
	// maxItemBytes is the largest item, as the UTF-8 length of its JSON text
	// (Microsoft Learn, "Azure Cosmos DB service quotas": 2 MB).
	maxItemBytes = 2 << 20
	// maxIDBytes is the longest id of an item (same page: 1023 bytes).
	maxIDBytes = 1023
)

// An item is one stored version of a document, without its text, which the store
// has. It is immutable but for commit.
type item struct {
	key      itemKey
	sequence uint64 // its place in the container's order of creation
	version  uuid.UUID
	modified int64                  // Unix seconds, the _ts
	ttl      int64                  // seconds; 0: not given, -1: never
	size     int                    // of the text
	terms    []sql.Value            // at the container's indexed paths
	commit   atomic.Pointer[commit] // of the write that made this version; nil when that is done
}

type itemKey struct{ partition, id string }

// expired reports whether the item is past its time to live under the
// container's default (Microsoft Learn, "Time to live (TTL) in Azure Cosmos DB":
// without a default nothing expires).
func (i *item) expired(defaultTTL int64, now int64) bool {
	ttl := i.ttl
	if ttl == 0 {
		ttl = defaultTTL
	}
	return defaultTTL != 0 && ttl > 0 && now >= i.modified+ttl
}

// A draft is a document of a request, checked. What it says of the service's own
// properties is replaced when it is stored.
type draft struct {
	key   itemKey
	ttl   int64
	value sql.Value
	size  int // of the text in the request; 0 if it is not known
}

// newDraft reads and checks a document for the container.
func newDraft(c *container, body []byte) (draft, error) {
	if len(body) > maxItemBytes {
		return draft{}, errTooLarge()
	}
	v, err := sql.Decode(body)
	if err != nil || v.Kind() != sql.Object {
		return draft{}, badRequest("The input content is invalid because it is not a JSON object: %v", err)
	}
	d, err := checkDraft(c, v)
	d.size = len(body)
	return d, err
}

func checkDraft(c *container, v sql.Value) (draft, error) {
	d := draft{value: v}
	switch id := v.Member("id"); {
	case id.Kind() == sql.Undefined || id.Kind() == sql.String && id.Text() == "":
		return d, badRequest("The input content is invalid because the required properties - 'id; ' - are missing")
	case id.Kind() != sql.String:
		return d, badRequest("The input content is invalid because the property 'id' is not a string")
	default:
		d.key.id = id.Text()
	}
	// The service takes an id with /, \ or # (Learn forbids them), and its gateways
	// differ in how such an item is reached; here, by its escaped id.
	if len(d.key.id) > maxIDBytes {
		return d, badRequest("The input name is invalid: it is longer than %d bytes.", maxIDBytes)
	}
	partition, ok := encodePartitionKey(v.At(c.path...))
	if !ok {
		return d, errPartitionKeyMismatch()
	}
	d.key.partition = partition
	if sole := soleID(partition); sole == d.key.id {
		d.key.id = sole // one text in memory for both
	} else {
		d.key.id = strings.Clone(d.key.id)
	}
	if ttl := v.Member("ttl"); ttl.Kind() != sql.Undefined {
		seconds, ok := parseTTL(ttl)
		if !ok {
			return d, badRequest("The input ttl '%s' is invalid. Ensure to provide a nonzero positive integer less than or equal to '2147483647', or -1.", sql.AppendJSON(nil, ttl))
		}
		d.ttl = seconds
	}
	return d, nil
}

// parseTTL reads a time to live: -1 or 1 to 2147483647 seconds.
func parseTTL(v sql.Value) (int64, bool) {
	seconds, ok := v.Integer()
	return seconds, ok && (seconds == -1 || seconds > 0 && seconds <= 1<<31-1)
}

// ownProperties is about how long the service's own properties are, in bytes.
const ownProperties = 256

// store makes the version of the item that the draft becomes, and its text.
func (d draft) store(c *container, sequence uint64, now int64) (*item, []byte, error) {
	version := uuid.New()
	rid := itemRID(c.database.number, c.number, sequence)
	v := d.value.WithFields(
		text("_rid", rid),
		text("_self", c.selfLink()+"docs/"+rid+"/"),
		text("_etag", etag(version)),
		text("_attachments", "attachments/"),
		integer("_ts", now),
	)
	text := sql.AppendJSON(make([]byte, 0, d.size+ownProperties), v)
	if len(text) > maxItemBytes {
		return nil, nil, errTooLarge()
	}
	return d.item(c, sequence, version, now, len(text)), text, nil
}

func (d draft) item(c *container, sequence uint64, version uuid.UUID, modified int64, size int) *item {
	i := &item{key: d.key, sequence: sequence, version: version, modified: modified, ttl: d.ttl, size: size}
	if len(c.indexed) > 0 {
		i.terms = make([]sql.Value, len(c.indexed))
	}
	for n, path := range c.indexed {
		if v := d.value.At(path...); v.Kind() < sql.Array {
			i.terms[n] = v.Detached()
		}
	}
	return i
}

// loadItem reads an item back from the store.
func loadItem(c *container, sequence uint64, text []byte) (*item, error) {
	v, err := sql.Decode(text)
	if err != nil {
		return nil, err
	}
	d, err := checkDraft(c, v)
	if err != nil {
		return nil, err
	}
	version, err := uuid.Parse(strings.Trim(v.Member("_etag").Text(), `"`))
	if err != nil {
		return nil, err
	}
	modified, _ := v.Member("_ts").Integer()
	return d.item(c, sequence, version, modified, len(text)), nil
}

func (i *item) etag() string { return etag(i.version) }

// etag is the tag of a version, in the quotes that are part of it.
func etag(version uuid.UUID) string { return `"` + version.String() + `"` }

func newETag() string { return etag(uuid.New()) }

// A condition is what If-Match and If-None-Match of a request say.
type condition struct{ match, noneMatch string }

func conditionOf(h http.Header) condition {
	return condition{match: h.Get("If-Match"), noneMatch: h.Get("If-None-Match")}
}

// checkWrite holds the condition against the stored tag before a write.
func (c condition) checkWrite(etag string) error {
	if c.match != "" && c.match != "*" && c.match != etag {
		return errPrecondition()
	}
	if c.noneMatch == "*" || c.noneMatch != "" && c.noneMatch == etag {
		return errPrecondition()
	}
	return nil
}

// unchanged reports whether a read may be answered with 304.
func (c condition) unchanged(etag string) bool {
	return c.noneMatch == "*" || c.noneMatch != "" && c.noneMatch == etag
}
