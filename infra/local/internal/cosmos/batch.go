package cosmos

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

const (
	maxBatchOperations = 100     // Microsoft Learn, "Transactional batch operations in Azure Cosmos DB"
	maxBatchBytes      = 2 << 20 // the same
)

// executeBatch does the operations of a transactional batch, all or none.
func (s *Server) executeBatch(c *call) (*response, error) {
	if !c.isTrue("x-ms-cosmos-batch-atomic") {
		return nil, badRequest("Batches that are not atomic are not supported by this account.")
	}
	if len(c.body) > maxBatchBytes {
		return nil, errTooLarge()
	}
	k, partition, err := s.itemScope(c)
	if err != nil {
		return nil, err
	}
	list, err := sql.Decode(c.body)
	if err != nil || list.Kind() != sql.Array || list.Len() == 0 {
		return nil, badRequest("The batch is invalid because it is not a JSON array of operations.")
	}
	if list.Len() > maxBatchOperations {
		return nil, badRequest("Batch request has more operations than what is supported: %d, at most %d.", list.Len(), maxBatchOperations)
	}
	ops := make([]operation, list.Len())
	for i := range ops {
		if ops[i], err = batchOperation(k, partition, list.Index(i)); err != nil {
			return batchResponse(c, k, partition, len(ops), 0, append(make([]outcome, i), outcome{err: err, charge: 1}))
		}
	}
	outcomes, writes, err := s.transact(k, partition, ops)
	if err != nil {
		return nil, err
	}
	return batchResponse(c, k, partition, len(ops), writes, outcomes)
}

// batchOperation reads one operation. Its error refuses that operation, and so
// the batch.
func batchOperation(k *container, partition string, v sql.Value) (operation, error) {
	op := operation{kind: operationKind(v.Member("operationType").Text()), id: v.Member("id").Text()}
	body := v.Member("resourceBody")
	switch op.kind {
	case opCreate, opUpsert, opReplace:
		d, err := checkDraft(k, body)
		if err != nil {
			return op, err
		}
		target := op.id
		if op, err = writeOperation(op.kind, partition, d); err != nil {
			return op, err
		}
		if op.kind == opReplace {
			op.id = target
		}
	case opPatch:
		p, err := parsePatch(k, body)
		if err != nil {
			return op, err
		}
		op.patch = p
	case opRead, opDelete:
	default:
		return op, badRequest("The batch operation type '%s' is not supported.", op.kind)
	}
	op.condition = condition{match: v.Member("ifMatch").Text(), noneMatch: v.Member("ifNoneMatch").Text()}
	return op, nil
}

// batchResponse answers with a result for each operation. When one failed, it
// is the last outcome and all others are told that they depend on it.
func batchResponse(c *call, k *container, partition string, operations int, writes int64, outcomes []outcome) (*response, error) {
	failed := outcomes[len(outcomes)-1].err
	var refused *apiError
	if failed != nil && !errors.As(failed, &refused) {
		return nil, failed
	}
	status, charge := http.StatusOK, 0.0
	results := make([]sql.Value, operations)
	for i := range results {
		result := sql.ObjectValue(integer("statusCode", http.StatusFailedDependency), integer("requestCharge", 0))
		switch {
		case failed == nil:
			var err error
			if result, err = batchResult(c, outcomes[i]); err != nil {
				return nil, err
			}
		case i == len(outcomes)-1:
			status = http.StatusMultiStatus
			result = sql.ObjectValue(
				integer("statusCode", int64(refused.status)), integer("subStatusCode", int64(refused.subStatus)),
				number("requestCharge", outcomes[i].charge), text("message", refused.message))
		}
		charge += result.Member("requestCharge").Float()
		results[i] = result
	}
	answer := newResponse(status, sql.AppendJSON(nil, sql.ArrayValue(results...)))
	answer.set("x-ms-item-count", strconv.Itoa(operations))
	return answer.charge(charge).session(k.rangeOf(partition).index, writes), nil
}

func batchResult(c *call, o outcome) (sql.Value, error) {
	fields := []sql.Field{integer("statusCode", int64(o.status)), number("requestCharge", o.charge)}
	if o.item != nil {
		fields = append(fields, text("eTag", o.item.etag()))
		if c.wantsContent() {
			v, err := sql.Decode(o.text)
			if err != nil {
				return v, fmt.Errorf("read item %s: %w", o.item.key.id, err)
			}
			fields = append(fields, sql.Field{Name: "resourceBody", Value: v})
		}
	}
	return sql.ObjectValue(fields...), nil
}

func number(name string, value float64) sql.Field {
	return sql.Field{Name: name, Value: sql.NumberValue(value)}
}
