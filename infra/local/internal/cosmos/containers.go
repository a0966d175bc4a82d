package cosmos

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func (s *Server) createOrQueryContainers(c *call) (*response, error) {
	if !c.isQuery() {
		return s.createContainer(c)
	}
	f, err := s.containerFeed(c)
	if err != nil {
		return nil, err
	}
	return s.queryFeed(c, f)
}

func (s *Server) listContainers(c *call) (*response, error) {
	f, err := s.containerFeed(c)
	if err != nil {
		return nil, err
	}
	return s.listFeed(c, f)
}

func (s *Server) containerFeed(c *call) (feed, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.databases[c.target.id(0)]
	if d == nil {
		return feed{}, errOwnerNotFound()
	}
	f := feed{name: "DocumentCollections", rid: d.rid()}
	for _, k := range d.containers {
		f.entries = append(f.entries, feedEntry{k.number, k.resource()})
	}
	return f, nil
}

func (s *Server) createContainer(c *call) (*response, error) {
	id, v, err := catalogBody(c)
	if err != nil {
		return nil, err
	}
	current, err := newSettings(v, s.now())
	if err != nil {
		return nil, err
	}
	throughput, err := throughputOf(c.Header)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	d := s.databases[c.target.id(0)]
	if d == nil {
		s.mu.Unlock()
		return nil, errOwnerNotFound()
	}
	if d.containers[id] != nil {
		s.mu.Unlock()
		return nil, errConflict()
	}
	var b store.Batch
	k := newContainer(d, id, s.number(), s.ranges, current)
	d.containers[id] = k
	k.save(&b)
	if throughput.Kind() == sql.Undefined && s.offerOf(d.rid()) == nil {
		throughput = manualThroughput(minThroughput)
	}
	if throughput.Kind() != sql.Undefined {
		s.addOffer(&b, k.rid(), k.selfLink(), throughput)
	}
	s.saveCounter(&b)
	s.commitCatalog(b)
	s.mu.Unlock()
	return resourceResponse(http.StatusCreated, k.resource(), catalogWriteCharge), nil
}

// container finds the container of a call on the container itself or, with
// inside, on something in it.
func (s *Server) container(c *call, inside bool) (*container, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	d := s.databases[c.target.id(0)]
	if d == nil {
		return nil, errOwnerNotFound()
	}
	if k := d.containers[c.target.id(1)]; k != nil {
		return k, nil
	}
	if inside {
		return nil, errOwnerNotFound()
	}
	return nil, errNotFound()
}

func (s *Server) readContainer(c *call) (*response, error) {
	k, err := s.container(c, false)
	if err != nil {
		return nil, err
	}
	return readResource(c, k.resource())
}

func (s *Server) replaceContainer(c *call) (*response, error) {
	id, v, err := catalogBody(c)
	if err != nil {
		return nil, err
	}
	current, err := newSettings(v, s.now())
	if err != nil {
		return nil, err
	}
	k, err := s.container(c, false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if k.database.containers[k.id] != k || s.databases[k.database.id] != k.database {
		s.mu.Unlock()
		return nil, errNotFound()
	}
	if err := checkReplacement(c, k, id, current); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	k.current.Store(current)
	var b store.Batch
	k.save(&b)
	s.commitCatalog(b)
	answer := resourceResponse(http.StatusOK, k.resource(), catalogWriteCharge)
	s.mu.Unlock()
	return answer, nil
}

// checkReplacement refuses to change what is fixed when a container is created.
func checkReplacement(c *call, k *container, id string, next *settings) error {
	old := k.current.Load()
	if err := conditionOf(c.Header).checkWrite(old.etag); err != nil {
		return err
	}
	if id != k.id {
		return badRequest("The id of a container can't be changed.")
	}
	before, after := old.properties.Member("partitionKey"), next.properties.Member("partitionKey")
	for _, member := range []string{"paths", "kind", "version"} {
		if string(sql.AppendJSON(nil, before.Member(member))) != string(sql.AppendJSON(nil, after.Member(member))) {
			return badRequest("The partition key definition of a container can't be changed.")
		}
	}
	return nil
}

func (s *Server) deleteContainer(c *call) (*response, error) {
	k, err := s.container(c, false)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if k.database.containers[k.id] != k || s.databases[k.database.id] != k.database {
		s.mu.Unlock()
		return nil, errNotFound()
	}
	if err := conditionOf(c.Header).checkWrite(k.current.Load().etag); err != nil {
		s.mu.Unlock()
		return nil, err
	}
	var b store.Batch
	s.dropContainer(&b, k)
	delete(k.database.containers, k.id)
	s.commitCatalog(b)
	s.mu.Unlock()
	return newResponse(http.StatusNoContent, nil).charge(catalogWriteCharge), nil
}

// dropContainer closes the container's ranges, so that no write comes after the
// batch that removes its items. s.mu is held.
func (s *Server) dropContainer(b *store.Batch, k *container) {
	for _, r := range k.ranges {
		r.mu.Lock()
		r.closed = true
		for _, i := range r.items {
			b.Delete(k.itemStoreKey(i.sequence))
		}
		r.mu.Unlock()
	}
	b.Delete(k.storeKey())
	s.dropOffer(b, k.rid())
}

// listRanges answers the partition key ranges, as a change feed that never has
// more than its beginning: clients read on until 304.
func (s *Server) listRanges(c *call) (*response, error) {
	k, err := s.container(c, true)
	if err != nil {
		return nil, err
	}
	etag := `"` + k.rid() + `"`
	if conditionOf(c.Header).unchanged(etag) {
		return newResponse(http.StatusNotModified, nil).tag(etag), nil
	}
	f := feed{name: "PartitionKeyRanges", rid: k.rid()}
	for i, r := range k.ranges {
		f.entries = append(f.entries, feedEntry{uint32(i), k.rangeResource(r)})
	}
	return f.response(f.values()).tag(etag), nil
}
