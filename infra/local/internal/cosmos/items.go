package cosmos

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// postItems is what a POST on the items of a container asks for: a query, a
// batch, or the creation of one item.
func (s *Server) postItems(c *call) (*response, error) {
	switch {
	case c.isQuery():
		return s.queryItems(c)
	case c.isTrue("x-ms-cosmos-is-batch-request"):
		return s.executeBatch(c)
	case c.isTrue("x-ms-documentdb-is-upsert"):
		return s.writeItem(c, opUpsert)
	}
	return s.writeItem(c, opCreate)
}

func (s *Server) replaceItem(c *call) (*response, error) { return s.writeItem(c, opReplace) }

// writeItem creates, upserts or replaces an item.
func (s *Server) writeItem(c *call, kind operationKind) (*response, error) {
	k, partition, err := s.itemScope(c)
	if err != nil {
		return nil, err
	}
	d, err := newDraft(k, c.body)
	if err != nil {
		return nil, err
	}
	op, err := writeOperation(kind, partition, d)
	if err != nil {
		return nil, err
	}
	if kind == opReplace {
		op.id = c.target.id(2)
	}
	return s.executeOne(c, k, partition, op)
}

// writeOperation makes the operation that stores a draft, which must belong to
// the partition.
func writeOperation(kind operationKind, partition string, d draft) (operation, error) {
	if d.key.partition != partition {
		return operation{}, errPartitionKeyMismatch()
	}
	return operation{kind: kind, id: d.key.id, draft: d}, nil
}

func (s *Server) patchItem(c *call) (*response, error) {
	k, partition, err := s.itemScope(c)
	if err != nil {
		return nil, err
	}
	v, err := sql.Decode(c.body)
	if err != nil {
		return nil, badRequest("The input content is invalid because it is not a JSON object.")
	}
	p, err := parsePatch(k, v)
	if err != nil {
		return nil, err
	}
	return s.executeOne(c, k, partition, operation{kind: opPatch, id: c.target.id(2), patch: p})
}

func (s *Server) deleteItem(c *call) (*response, error) {
	k, partition, err := s.itemScope(c)
	if err != nil {
		return nil, err
	}
	return s.executeOne(c, k, partition, operation{kind: opDelete, id: c.target.id(2)})
}

func (s *Server) readItem(c *call) (*response, error) {
	k, partition, err := s.itemScope(c)
	if err != nil {
		return nil, err
	}
	r := k.rangeOf(partition)
	i, text, writes, err := s.read(k, itemKey{partition, c.target.id(2)})
	if err != nil {
		return nil, err
	}
	if conditionOf(c.Header).unchanged(i.etag()) {
		return newResponse(http.StatusNotModified, nil).tag(i.etag()).charge(1).session(r.index, writes), nil
	}
	return newResponse(http.StatusOK, text).tag(i.etag()).charge(readCharge(i.size)).session(r.index, writes), nil
}

// itemScope finds the container of a call on an item and the partition that its
// header names.
func (s *Server) itemScope(c *call) (*container, string, error) {
	k, err := s.container(c, true)
	if err != nil {
		return nil, "", err
	}
	if c.Header.Get("A-IM") != "" {
		return nil, "", errChangeFeed()
	}
	partition, err := requiredPartitionKey(c.Header)
	return k, partition, err
}

func errChangeFeed() *apiError {
	return badRequest("The change feed is not supported by this account.")
}

// executeOne does one write and answers with what came of it.
func (s *Server) executeOne(c *call, k *container, partition string, op operation) (*response, error) {
	op.condition = conditionOf(c.Header)
	outcomes, writes, err := s.transact(k, partition, []operation{op})
	if err != nil {
		return nil, err
	}
	o := outcomes[0]
	if o.err != nil {
		return nil, o.err
	}
	answer := newResponse(o.status, nil)
	if o.item != nil {
		answer.tag(o.item.etag())
		if c.wantsContent() {
			answer.body = o.text
		}
	}
	return answer.charge(o.charge).session(k.rangeOf(partition).index, writes), nil
}
