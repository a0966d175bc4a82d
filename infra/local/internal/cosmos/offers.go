package cosmos

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// minThroughput is the least manual throughput, and the default of a container
// (Microsoft Learn, "Azure Cosmos DB service quotas").
const minThroughput = 400

// An offer is the throughput of a database or container. It limits nothing here.
// It is guarded by Server.mu.
type offer struct {
	number   uint32
	target   string // resource id of the database or container
	link     string // its self link
	content  sql.Value
	etag     string
	modified int64
}

func (o *offer) rid() string { return offerRID(o.number) }

func (o *offer) resource() sql.Value {
	return sql.ObjectValue(
		text("offerVersion", "V2"), text("offerType", "Invalid"),
		sql.Field{Name: "content", Value: o.content},
		text("resource", o.link), text("offerResourceId", o.target),
		text("id", o.rid()), text("_rid", o.rid()), text("_self", "offers/"+o.rid()+"/"),
		text("_etag", o.etag), integer("_ts", o.modified),
	)
}

// throughputOf reads the throughput that a create asks for; Undefined when it
// asks for none.
func throughputOf(h http.Header) (sql.Value, error) {
	manual, auto := h.Get("x-ms-offer-throughput"), h.Get("x-ms-cosmos-offer-autopilot-settings")
	switch {
	case manual != "":
		n, err := strconv.Atoi(manual)
		if err != nil {
			return sql.Value{}, badRequest("The value '%s' specified for the header 'x-ms-offer-throughput' is invalid.", manual)
		}
		content := manualThroughput(n)
		return content, checkThroughput(content)
	case auto != "":
		v, err := sql.Decode([]byte(auto))
		if err != nil {
			return sql.Value{}, badRequest("The value '%s' specified for the header 'x-ms-cosmos-offer-autopilot-settings' is invalid.", auto)
		}
		content := sql.ObjectValue(sql.Field{Name: "offerAutopilotSettings", Value: v})
		return content, checkThroughput(content)
	}
	return sql.Value{}, nil
}

func manualThroughput(units int) sql.Value {
	return sql.ObjectValue(integer("offerThroughput", int64(units)))
}

// checkThroughput holds an offer to the steps in which throughput is sold.
func checkThroughput(content sql.Value) error {
	if auto := content.At("offerAutopilotSettings", "maxThroughput"); auto.Kind() != sql.Undefined {
		if n, ok := auto.Integer(); !ok || n < 1000 || n%1000 != 0 {
			return badRequest("The maximum throughput '%s' is invalid: it must be 1000 or more, in steps of 1000.", sql.AppendJSON(nil, auto))
		}
		return nil
	}
	manual := content.Member("offerThroughput")
	if n, ok := manual.Integer(); !ok || n < minThroughput || n%100 != 0 {
		return badRequest("The offer should have valid throughput values between %d and 1000000 inclusive in increments of 100.", minThroughput)
	}
	return nil
}

// addOffer makes the offer of a new database or container. s.mu is held.
func (s *Server) addOffer(b *store.Batch, target, link string, content sql.Value) {
	o := &offer{number: s.number(), target: target, link: link, content: content, etag: newETag(), modified: s.now().Unix()}
	s.offers[strings.ToLower(o.rid())] = o
	o.save(b)
}

// offerOf finds the offer of a resource. s.mu is held.
func (s *Server) offerOf(target string) *offer {
	for _, o := range s.offers {
		if o.target == target {
			return o
		}
	}
	return nil
}

func (s *Server) dropOffer(b *store.Batch, target string) {
	if o := s.offerOf(target); o != nil {
		delete(s.offers, strings.ToLower(o.rid()))
		b.Delete(o.storeKey())
	}
}

func (s *Server) offerFeed() feed {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := feed{name: "Offers"}
	for _, o := range s.offers {
		f.entries = append(f.entries, feedEntry{o.number, o.resource()})
	}
	return f
}

func (s *Server) listOffers(c *call) (*response, error) { return s.listFeed(c, s.offerFeed()) }

func (s *Server) queryOffers(c *call) (*response, error) {
	if !c.isQuery() {
		return nil, badRequest("Offers can't be created: they come with their database or container.")
	}
	return s.queryFeed(c, s.offerFeed())
}

func (s *Server) readOffer(c *call) (*response, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	o := s.offers[strings.ToLower(c.target.id(0))]
	if o == nil {
		return nil, errNotFound()
	}
	answer, err := readResource(c, o.resource())
	return answer.set("x-ms-cosmos-min-throughput", strconv.Itoa(minThroughput)), err
}

func (s *Server) replaceOffer(c *call) (*response, error) {
	v, err := sql.Decode(c.body)
	if err != nil {
		return nil, badRequest("The input content is invalid because it is not a JSON object.")
	}
	content := v.Member("content")
	if err := checkThroughput(content); err != nil {
		return nil, err
	}
	s.mu.Lock()
	o := s.offers[strings.ToLower(c.target.id(0))]
	if o == nil {
		s.mu.Unlock()
		return nil, errNotFound()
	}
	if err := conditionOf(c.Header).checkWrite(o.etag); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	o.content, o.etag, o.modified = content, newETag(), s.now().Unix()
	var b store.Batch
	o.save(&b)
	s.commitCatalog(b)
	answer := resourceResponse(http.StatusOK, o.resource(), catalogWriteCharge)
	s.mu.Unlock()
	return answer.set("x-ms-cosmos-min-throughput", strconv.Itoa(minThroughput)), nil
}

func (o *offer) storeKey() string { return fmt.Sprintf("cosmos/offer/%08x", o.number) }

// offerRecord is an offer in the store.
type offerRecord struct {
	Target   string          `json:"target"`
	Link     string          `json:"link"`
	Content  json.RawMessage `json:"content"`
	ETag     string          `json:"etag"`
	Modified int64           `json:"modified"`
}

func (o *offer) save(b *store.Batch) {
	put(b, o.storeKey(), offerRecord{o.target, o.link, sql.AppendJSON(nil, o.content), o.etag, o.modified})
}
