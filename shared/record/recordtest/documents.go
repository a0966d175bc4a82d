package recordtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

// Documents are a business.Documents in memory. Of queries it knows comparisons
// of top-level fields with parameters, all joined by AND or all by OR.
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

// Page implements business.Documents. The first page is empty, as a database's may
// be, and the second has the rest: what matches may change between two pages.
func (d *Documents) Page(ctx context.Context, q business.Query) (docs [][]byte, next string, err error) {
	err = d.Memory.do(ctx, Page, q.Text, func() error {
		var found [][]byte
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
				found = append(found, withETag(stored.data, stored.etag))
			}
		}
		docs, next, err = Cut(found, max(1, len(found)), q.Continuation)
		return err
	})
	return docs, next, err
}

// withETag adds the ETag to a document, as the service does.
func withETag(doc []byte, etag string) []byte {
	return fmt.Appendf(nil, `{"_etag":%q,%s`, etag, strings.TrimPrefix(string(doc), "{"))
}

var comparison = regexp.MustCompile(`c(?:\.|\[")(\w+)(?:"\])? (=|<=|>=|<|>) (@\w+)`)

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
	any := strings.Contains(where, " OR ")
	found := comparison.FindAllStringSubmatch(where, -1)
	if len(found) != strings.Count(where, "@") || any && strings.Contains(where, " AND ") {
		return false, failure.New(failure.Permanent, "query", q.Text, nil)
	}
	for _, c := range found {
		if compare(fields[c[1]], c[2], q.Parameters[c[3]]) == any {
			return any, nil
		}
	}
	return !any, nil
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
