package cosmos

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// A database is one database of the account. Its containers are guarded by
// Server.mu; the rest never changes.
type database struct {
	id         string
	number     uint32
	etag       string
	modified   int64
	containers map[string]*container
}

func (d *database) rid() string { return databaseRID(d.number) }

func (d *database) selfLink() string { return "dbs/" + d.rid() + "/" }

// resource is the database as the service shows it.
func (d *database) resource() sql.Value {
	return sql.ObjectValue(
		text("id", d.id), text("_rid", d.rid()), text("_self", d.selfLink()), text("_etag", d.etag),
		text("_colls", "colls/"), text("_users", "users/"), integer("_ts", d.modified),
	)
}

// A container holds items. Its identity and ranges never change; its settings
// are replaced as a whole.
type container struct {
	database *database
	id       string
	number   uint32
	path     []string   // to the partition key in a document
	indexed  [][]string // paths of which there is an index; a change of the policy counts from the next start on
	ranges   []*keyRange
	bounds   []hash // the first hash of each range
	current  atomic.Pointer[settings]
	sequence atomic.Uint64 // of the item created last
}

// settings are what replacing a container can change.
type settings struct {
	properties sql.Value // what the client gave, with defaults filled in
	defaultTTL int64     // seconds; 0: off, -1: only items with their own
	etag       string
	modified   int64
}

func newContainer(d *database, id string, number uint32, ranges int, s *settings) *container {
	key := s.properties.Member("partitionKey")
	if version, _ := key.Member("version").Integer(); version != 2 {
		ranges = 1 // see hash.go
	}
	c := &container{database: d, id: id, number: number, path: parsePartitionPath(key.Member("paths").Index(0).Text())}
	c.current.Store(s)
	c.indexed = indexedPaths(s.properties)
	for i := range ranges {
		c.ranges = append(c.ranges, newKeyRange(i, len(c.indexed), c.grouped()))
		c.bounds = append(c.bounds, bound(i, ranges))
	}
	return c
}

func (c *container) rid() string { return containerRID(c.database.number, c.number) }

func (c *container) selfLink() string { return c.database.selfLink() + "colls/" + c.rid() + "/" }

// resource is the container as the service shows it.
func (c *container) resource() sql.Value {
	s := c.current.Load()
	return s.properties.WithFields(
		text("_rid", c.rid()), integer("_ts", s.modified), text("_self", c.selfLink()), text("_etag", s.etag),
		text("_docs", "docs/"), text("_sprocs", "sprocs/"), text("_triggers", "triggers/"),
		text("_udfs", "udfs/"), text("_conflicts", "conflicts/"),
	)
}

func text(name, value string) sql.Field { return sql.Field{Name: name, Value: sql.StringValue(value)} }

func integer(name string, value int64) sql.Field {
	return sql.Field{Name: name, Value: sql.IntegerValue(value)}
}

// rangeOf gives the range of an encoded partition key.
func (c *container) rangeOf(partition string) *keyRange {
	h := hashPartitionKey(partition)
	i := len(c.bounds) - 1
	for i > 0 && h.below(c.bounds[i]) {
		i--
	}
	return c.ranges[i]
}

// grouped reports whether a partition can have more than one item. Where it can't,
// indexes are for queries of a whole range.
func (c *container) grouped() bool { return !slices.Equal(c.path, []string{"id"}) }

// rangeByID finds a range by what clients send to address it: its id, or the
// container's resource id, a comma and its id.
func (c *container) rangeByID(id string) (*keyRange, bool) {
	if rid, rest, ok := strings.Cut(id, ","); ok {
		if rid != c.rid() {
			return nil, false
		}
		id = rest
	}
	for _, r := range c.ranges {
		if fmt.Sprint(r.index) == id {
			return r, true
		}
	}
	return nil, false
}

// itemStoreKey is the key of an item in the store.
func (c *container) itemStoreKey(sequence uint64) string {
	return fmt.Sprintf("%s%016x", c.itemStorePrefix(), sequence)
}

func (c *container) itemStorePrefix() string { return fmt.Sprintf("cosmos/item/%08x/", c.number) }
