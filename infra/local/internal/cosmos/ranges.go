package cosmos

import (
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// rangeResource is a partition key range as the service shows it. The first
// starts at "" and the last ends at "FF", beyond all hashes.
func (c *container) rangeResource(r *keyRange) sql.Value {
	first, end := "", "FF"
	if r.index > 0 {
		first = c.bounds[r.index].String()
	}
	if r.index+1 < len(c.bounds) {
		end = c.bounds[r.index+1].String()
	}
	id := strconv.Itoa(r.index)
	modified := c.current.Load().modified
	rid := itemRID(c.database.number, c.number, 1<<63|uint64(r.index))
	return sql.ObjectValue(
		text("_rid", rid),
		text("id", id),
		text("_etag", `"`+rid+`"`),
		text("minInclusive", first),
		text("maxExclusive", end),
		integer("ridPrefix", int64(r.index)),
		text("_self", c.selfLink()+"pkranges/"+rid+"/"),
		sql.Field{Name: "throughputFraction", Value: sql.NumberValue(1 / float64(len(c.ranges)))},
		text("status", "online"),
		sql.Field{Name: "parents", Value: sql.ArrayValue()},
		integer("_ts", modified),
		integer("lsn", 1),
	)
}
