package cosmos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// maxQueryBytes is the longest query text (Microsoft Learn, "Azure Cosmos DB
// service quotas": 512 KB).
const maxQueryBytes = 512 << 10

// parseQuery reads the body of a query request.
func parseQuery(body []byte) (*sql.Query, error) {
	v, err := sql.Decode(body)
	if err != nil {
		return nil, badRequest("The query request is invalid because it is not a JSON object.")
	}
	query := v.Member("query").Text()
	if query == "" || len(query) > maxQueryBytes {
		return nil, badRequest("The query text is missing or longer than %d bytes.", maxQueryBytes)
	}
	list := v.Member("parameters")
	params := make(map[string]sql.Value, list.Len())
	for i := range list.Len() {
		name := list.Index(i).Member("name").Text()
		if len(name) < 2 || name[0] != '@' {
			return nil, badRequest("The query parameter name '%s' is invalid.", name)
		}
		params[name] = list.Index(i).Member("value")
	}
	q, err := sql.Parse(query, params)
	if err != nil {
		return nil, queryError(err)
	}
	return q, nil
}

// queryError words an error of the query language as the service does: a JSON
// object inside the message.
func queryError(err error) error {
	var refused *sql.Error
	if !errors.As(err, &refused) {
		return fmt.Errorf("parse query: %w", err)
	}
	type location struct {
		Start int `json:"start"`
		End   int `json:"end"`
	}
	type entry struct {
		Severity string   `json:"severity"`
		Location location `json:"location"`
		Code     string   `json:"code"`
		Message  string   `json:"message"`
	}
	text, err := json.Marshal(map[string][]entry{
		"errors": {{"Error", location{refused.Start, refused.End}, refused.Code, refused.Message}},
	})
	if err != nil {
		return fmt.Errorf("word query error: %w", err)
	}
	return newError(http.StatusBadRequest, 0, "Message: %s", text)
}

// A scan is a query over some of a container's items, a page at a time.
type scan struct {
	server    *Server
	container *container
	query     *sql.Query
	ranges    []*keyRange // to read, in order
	partition string      // when set, only this partition of the only range
	size      int         // results per page
	position  position
	spans     []sql.Span // of the indexes that find all that matches; nil: none do
	covered   bool       // what they find need not be looked at
	now       int64
}

// queryItems answers a page of a query over items.
func (s *Server) queryItems(c *call) (*response, error) {
	k, err := s.container(c, true)
	if err != nil {
		return nil, err
	}
	q, err := parseQuery(c.body)
	if err != nil {
		return nil, err
	}
	sc := &scan{server: s, container: k, query: q}
	if err := sc.route(c); err != nil {
		return nil, err
	}
	if err := k.current.Load().checkOrder(q.OrderTerms()); err != nil {
		return nil, err
	}
	return s.answerPage(c, sc)
}

// everything is the query that a feed of all items answers.
var everything = func() *sql.Query {
	q, err := sql.Parse("SELECT * FROM c", nil)
	if err != nil {
		panic(err)
	}
	return q
}()

// listItems answers a page of the feed of all items.
func (s *Server) listItems(c *call) (*response, error) {
	k, err := s.container(c, true)
	if err != nil {
		return nil, err
	}
	if c.Header.Get("A-IM") != "" {
		return nil, errChangeFeed()
	}
	sc := &scan{server: s, container: k, query: everything}
	if err := sc.choose(c); err != nil {
		return nil, err
	}
	return s.answerPage(c, sc)
}

// route decides which ranges a query reads, and refuses what the gateway can't
// serve across them (Microsoft Learn, "Querying Azure Cosmos DB resources using
// the REST API").
func (sc *scan) route(c *call) error {
	if err := sc.choose(c); err != nil {
		return err
	}
	if sc.partition == "" && c.Header.Get(rangeHeader) == "" {
		if !c.isTrue("x-ms-documentdb-query-enablecrosspartition") {
			return badRequest("Cross partition query is required but disabled. Please set x-ms-documentdb-query-enablecrosspartition to true, specify x-ms-documentdb-partitionkey, or revise your query to avoid this exception.")
		}
		if sc.query.Features().Any() {
			return newError(http.StatusBadRequest, subCrossPartitionQuery,
				"The provided cross partition query can not be directly served by the gateway. This is a first chance (internal) exception that all newer clients will know how to handle gracefully. This exception is traced, but unless you see it bubble up as an exception (which only happens on older SDK clients), then you can safely ignore this message.")
		}
	}
	return nil
}

const rangeHeader = "x-ms-documentdb-partitionkeyrangeid"

// choose finds the partition by the header or by an equality in the query, or
// the range that the header names; otherwise all ranges are read.
func (sc *scan) choose(c *call) error {
	k := sc.container
	partition, given, err := headerPartitionKey(c.Header)
	if err != nil {
		return err
	}
	if v, ok := sc.query.Pinned(k.path); ok && !given {
		partition, given = encodePartitionKey(v)
	}
	id := c.Header.Get(rangeHeader)
	switch {
	case id != "":
		r, ok := k.rangeByID(id)
		if !ok {
			return newError(http.StatusGone, subRangeGone, "The requested partition key range '%s' does not exist.", id)
		}
		// A partition of another range has nothing in this one.
		sc.partition, sc.ranges = partition, []*keyRange{r}
	case given:
		sc.partition, sc.ranges = partition, []*keyRange{k.rangeOf(partition)}
	default:
		sc.ranges = k.ranges
	}
	return nil
}

// answerPage runs a scan from the continuation of the call.
func (s *Server) answerPage(c *call, sc *scan) (*response, error) {
	var err error
	if sc.size, err = c.pageSize(); err != nil {
		return nil, err
	}
	sc.now = s.now().Unix()
	if sc.container.grouped() == (sc.partition != "") {
		var exact bool
		sc.spans, exact = sc.query.Spans(sc.container.indexed)
		sc.covered = sc.spans != nil && exact && sc.query.WholeRow() && !sc.query.Features().Any()
	}
	identity := queryIdentity(sc.container.rid(), sc.partition, c.Header.Get(rangeHeader), string(c.body))
	if token := c.Header.Get("x-ms-continuation"); token != "" {
		if sc.position, err = parsePosition(token, identity, len(sc.ranges)); err != nil {
			return nil, err
		}
	} else {
		sc.position.Query = identity
		sc.position.Skip, sc.position.Left = sc.query.Window()
	}
	p, err := sc.page()
	if err != nil {
		return nil, err
	}
	if err := p.shows.last.wait(); err != nil {
		return nil, err
	}
	answer := newResponse(http.StatusOK, p.body(sc.container.rid()))
	if p.more {
		token, err := sc.position.token()
		if err != nil {
			return nil, fmt.Errorf("make continuation: %w", err)
		}
		answer.set("x-ms-continuation", token)
	}
	switch {
	case c.isTrue("x-ms-cosmos-populateindexmetrics-V2"):
		answer.set("x-ms-cosmos-index-utilization", noIndexesV2)
	case c.isTrue("x-ms-cosmos-populateindexmetrics"):
		answer.set("x-ms-cosmos-index-utilization", noIndexes)
	}
	answer.set("x-ms-item-count", strconv.Itoa(p.count)).
		set("x-ms-documentdb-query-metrics", fmt.Sprintf("retrievedDocumentCount=%d;retrievedDocumentSize=%d;outputDocumentCount=%d;outputDocumentSize=%d",
			p.loaded, p.loadedBytes, p.count, len(p.documents)))
	return answer.charge(queryCharge(p.loaded, p.loadedBytes)).session(p.rangeIndex, p.shows.writes), nil
}

// noIndexes is the index utilization of every query here, in base64: which indexes
// were used is not told.
const noIndexes = "eyJVdGlsaXplZFNpbmdsZUluZGV4ZXMiOltdLCJQb3RlbnRpYWxTaW5nbGVJbmRleGVzIjpbXSwiVXRpbGl6ZWRDb21wb3NpdGVJbmRleGVzIjpbXSwiUG90ZW50aWFsQ29tcG9zaXRlSW5kZXhlcyI6W119"

// noIndexesV2 says the same as newer clients read it, escaped as in a URL.
var noIndexesV2 = url.PathEscape(`{"Utilized":{"SingleIndexes":[],"CompositeIndexes":[]},"Potential":{"SingleIndexes":[],"CompositeIndexes":[]}}`)
