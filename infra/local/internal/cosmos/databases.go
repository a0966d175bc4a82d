package cosmos

import (
	"net/http"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// catalogCharge is what reading or writing a database, container or offer costs.
const (
	catalogReadCharge  = 1
	catalogWriteCharge = 4.95
)

func (s *Server) createOrQueryDatabases(c *call) (*response, error) {
	if c.isQuery() {
		return s.queryFeed(c, s.databaseFeed())
	}
	return s.createDatabase(c)
}

func (s *Server) listDatabases(c *call) (*response, error) { return s.listFeed(c, s.databaseFeed()) }

func (s *Server) databaseFeed() feed {
	s.mu.RLock()
	defer s.mu.RUnlock()
	f := feed{name: "Databases"}
	for _, d := range s.databases {
		f.entries = append(f.entries, feedEntry{d.number, d.resource()})
	}
	return f
}

func (s *Server) createDatabase(c *call) (*response, error) {
	id, _, err := catalogBody(c)
	if err != nil {
		return nil, err
	}
	throughput, err := throughputOf(c.Header)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.databases[id] != nil {
		s.mu.Unlock()
		return nil, errConflict()
	}
	var b store.Batch
	d := &database{id: id, number: s.number(), etag: newETag(), modified: s.now().Unix(), containers: make(map[string]*container)}
	s.databases[id] = d
	d.save(&b)
	if throughput.Kind() != sql.Undefined {
		s.addOffer(&b, d.rid(), d.selfLink(), throughput)
	}
	s.saveCounter(&b)
	s.commitCatalog(b)
	answer := resourceResponse(http.StatusCreated, d.resource(), catalogWriteCharge)
	s.mu.Unlock()
	return answer, nil
}

func (s *Server) readDatabase(c *call) (*response, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.databases[c.target.id(0)]
	if d == nil {
		return nil, errNotFound()
	}
	return readResource(c, d.resource())
}

func (s *Server) deleteDatabase(c *call) (*response, error) {
	s.mu.Lock()
	d := s.databases[c.target.id(0)]
	if d == nil {
		s.mu.Unlock()
		return nil, errNotFound()
	}
	if err := conditionOf(c.Header).checkWrite(d.etag); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	var b store.Batch
	for _, container := range d.containers {
		s.dropContainer(&b, container)
	}
	delete(s.databases, d.id)
	b.Delete(d.storeKey())
	s.dropOffer(&b, d.rid())
	s.commitCatalog(b)
	s.mu.Unlock()
	return newResponse(http.StatusNoContent, nil).charge(catalogWriteCharge), nil
}

// readResource answers a read of a database, container or offer.
func readResource(c *call, v sql.Value) (*response, error) {
	etag := v.Member("_etag").Text()
	if conditionOf(c.Header).unchanged(etag) {
		return newResponse(http.StatusNotModified, nil).tag(etag).charge(catalogReadCharge), nil
	}
	return resourceResponse(http.StatusOK, v, catalogReadCharge), nil
}

// number gives the number of a new database, container or offer. s.mu is held.
func (s *Server) number() uint32 {
	n := s.next
	s.next++
	return n
}

// catalogBody reads the definition of a database or container, and its id.
func catalogBody(c *call) (string, sql.Value, error) {
	v, err := sql.Decode(c.body)
	if err != nil || v.Kind() != sql.Object {
		return "", v, badRequest("The input content is invalid because it is not a JSON object.")
	}
	id := v.Member("id").Text()
	if id == "" {
		return "", v, badRequest("The input content is invalid because the required properties - 'id; ' - are missing")
	}
	// Microsoft Learn, "Create a database" and "Create a collection".
	if len(id) > 255 || strings.ContainsAny(id, `/\#?`) || strings.HasSuffix(id, " ") {
		return "", v, badRequest("The input name '%s' is invalid. Ensure to provide a unique non-empty string less than '255' characters, which does not end with a space or contain '/', '\\', '#' or '?'.", id)
	}
	return id, v, nil
}
