package cosmos

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// A feed is the list of an account's databases, a database's containers or the
// offers: few, and never divided into ranges.
type feed struct {
	name    string // of the list in the answer
	rid     string // of the owner
	entries []feedEntry
}

type feedEntry struct {
	number   uint32 // in the order of creation; continuations name it
	resource sql.Value
}

func (f feed) values() []sql.Value {
	values := make([]sql.Value, len(f.entries))
	for i, e := range f.entries {
		values[i] = e.resource
	}
	return values
}

func (f feed) response(values []sql.Value) *response {
	body := sql.ObjectValue(
		text("_rid", f.rid),
		sql.Field{Name: f.name, Value: sql.ArrayValue(values...)},
		integer("_count", int64(len(values))),
	)
	return newResponse(http.StatusOK, sql.AppendJSON(nil, body)).
		set("x-ms-item-count", strconv.Itoa(len(values))).
		charge(queryCharge(len(values), 0))
}

// listFeed answers a page of all entries.
func (s *Server) listFeed(c *call, f feed) (*response, error) {
	return f.page(c, func(v sql.Value) (sql.Value, bool) { return v, true })
}

// queryFeed answers a page of the entries that a query selects. Queries here can
// filter and project; azcosmos needs no more.
func (s *Server) queryFeed(c *call, f feed) (*response, error) {
	q, err := parseQuery(c.body)
	if err != nil {
		return nil, err
	}
	if q.Features().Any() {
		return nil, badRequest("Only filters and projections are supported on this resource.")
	}
	return f.page(c, func(v sql.Value) (sql.Value, bool) {
		if !q.Matches(v) {
			return v, false
		}
		return q.Project(v)
	})
}

// page gives the entries behind the continuation that pass take, up to the page
// size. The continuation is the number of the last entry seen.
func (f feed) page(c *call, take func(sql.Value) (sql.Value, bool)) (*response, error) {
	size, err := c.pageSize()
	if err != nil {
		return nil, err
	}
	var after uint64
	if token := c.Header.Get("x-ms-continuation"); token != "" {
		if after, err = strconv.ParseUint(token, 10, 32); err != nil {
			return nil, errContinuation()
		}
	}
	slices.SortFunc(f.entries, func(a, b feedEntry) int { return cmp.Compare(a.number, b.number) })
	var page []sql.Value
	for i, e := range f.entries {
		if uint64(e.number) <= after {
			continue
		}
		if v, ok := take(e.resource); ok {
			page = append(page, v)
		}
		if len(page) == size && i+1 < len(f.entries) {
			return f.response(page).set("x-ms-continuation", strconv.FormatUint(uint64(e.number), 10)), nil
		}
	}
	return f.response(page), nil
}
