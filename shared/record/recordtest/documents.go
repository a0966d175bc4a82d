package recordtest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Documents are a business.Documents in memory. Of queries it knows comparisons
// of top-level fields with parameters, joined by AND, and in parentheses by OR.
type Documents struct {
	// Memory has the documents by partition key, a slash and id; faults are set there.
	Memory Memory[json.RawMessage]
}

var _ business.Documents = (*Documents)(nil)

func key(partitionKey, id string) string { return partitionKey + "/" + id }

// Read implements business.Documents.
func (d *Documents) Read(ctx context.Context, partitionKey, id string) ([]byte, string, error) {
	doc, etag, err := d.Memory.Read(ctx, key(partitionKey, id))
	if err != nil {
		return nil, "", err
	}
	return withETag(doc, etag), etag, nil
}

// Create implements business.Documents.
func (d *Documents) Create(ctx context.Context, partitionKey, id string, doc []byte) (string, error) {
	return d.Memory.Create(ctx, key(partitionKey, id), doc)
}

// Replace implements business.Documents.
func (d *Documents) Replace(ctx context.Context, partitionKey, id string, doc []byte, etag string) (string, error) {
	return d.Memory.Replace(ctx, key(partitionKey, id), doc, etag)
}

// All returns all documents by partition key, a slash and id, without faults.
func All[T any](d *Documents) (map[string]T, error) {
	docs, err := d.Memory.All()
	all := make(map[string]T, len(docs))
	for k, doc := range docs {
		var v T
		err = errors.Join(err, json.Unmarshal(doc, &v))
		all[k] = v
	}
	return all, err
}

// Page implements business.Documents. The first page is empty, as a database's may
// be, and the second has the rest: what matches may change between two pages. A
// continuation belongs to its query, the parameters included, as with Cosmos DB.
func (d *Documents) Page(ctx context.Context, q business.Query) (docs [][]byte, next string, err error) {
	err = d.Memory.do(ctx, Page, q.Text, func() error {
		rest := "0"
		if len(q.Parameters) > 0 {
			rest = fmt.Sprintf("%x", fmt.Append(nil, q.Parameters))
		}
		switch q.Continuation {
		case "":
			next = rest
			return nil
		case rest:
		default:
			return failure.New(failure.Invalid, "page", q.Continuation, nil)
		}
		for _, k := range slices.Sorted(maps.Keys(d.Memory.docs)) {
			if q.PartitionKey != nil && !strings.HasPrefix(k, *q.PartitionKey+"/") {
				continue
			}
			stored := d.Memory.docs[k]
			matches, err := match(q, stored.data)
			if err != nil {
				return err
			}
			if matches {
				docs = append(docs, withETag(stored.data, stored.etag))
			}
		}
		return nil
	})
	return docs, next, err
}

// withETag adds the ETag to a document, as the service does.
func withETag(doc []byte, etag string) []byte {
	return fmt.Appendf(nil, `{"_etag":%q,%s`, etag, strings.TrimPrefix(string(doc), "{"))
}

var comparison = regexp.MustCompile(`^c(?:\.|\[")(\w+)(?:"\])? (=|<=|>=|<|>) (@\w+)$`)

// match tells whether a document is one of those that a query selects.
func match(q business.Query, doc []byte) (bool, error) {
	_, where, _ := strings.Cut(q.Text, " WHERE ")
	if where == "" {
		return true, nil
	}
	var fields map[string]any
	if err := json.Unmarshal(doc, &fields); err != nil {
		return false, fmt.Errorf("query %s: %w", q.Text, err)
	}
	for all := range strings.SplitSeq(where, " AND ") {
		holds := false
		for one := range strings.SplitSeq(strings.Trim(all, "()"), " OR ") {
			c := comparison.FindStringSubmatch(one)
			if c == nil {
				return false, failure.New(failure.Permanent, "query", q.Text, nil)
			}
			holds = holds || compare(fields[c[1]], c[2], q.Parameters[c[3]])
		}
		if !holds {
			return false, nil
		}
	}
	return true, nil
}

// compare compares a field with a parameter. What is not there, or of another
// type, compares with nothing.
func compare(field any, operator string, parameter any) bool {
	order, ok := 0, false
	switch parameter := parameter.(type) {
	case string:
		var text string
		text, ok = field.(string)
		order = cmp.Compare(text, parameter)
	case int64:
		var number float64
		number, ok = field.(float64)
		order = cmp.Compare(number, float64(parameter))
	}
	return ok && (order == 0 && strings.Contains(operator, "=") || order < 0 && operator[0] == '<' || order > 0 && operator[0] == '>')
}
