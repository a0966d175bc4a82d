package cosmos

import (
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// newSettings checks the definition of a container and fills in what the service
// fills in (Microsoft Learn, "Create a collection").
func newSettings(v sql.Value, now time.Time) (*settings, error) {
	s := &settings{etag: newETag(), modified: now.Unix()}
	if err := checkPartitionKey(v.Member("partitionKey")); err != nil {
		return nil, err
	}
	if ttl := v.Member("defaultTtl"); ttl.Kind() != sql.Undefined && ttl.Kind() != sql.Null {
		seconds, ok := parseTTL(ttl)
		if !ok {
			return nil, badRequest("The value '%s' specified for 'defaultTtl' is invalid: it must be -1 or 1 to 2147483647.", sql.AppendJSON(nil, ttl))
		}
		s.defaultTTL = seconds
	} else if ttl.Kind() == sql.Null {
		v = v.WithMember("defaultTtl", sql.Value{})
	}
	if v.At("uniqueKeyPolicy", "uniqueKeys").Len() > 0 {
		return nil, badRequest("Unique keys are not supported by this account.")
	}
	if v.Member("analyticalStorageTtl").Kind() != sql.Undefined {
		return nil, badRequest("The analytical store is not enabled for this account.")
	}
	if indexing := v.Member("indexingPolicy"); indexing.Kind() != sql.Object {
		v = v.WithMember("indexingPolicy", defaultIndexing)
	}
	if v.Member("conflictResolutionPolicy").Kind() != sql.Object {
		v = v.WithMember("conflictResolutionPolicy", sql.ObjectValue(
			text("mode", "LastWriterWins"), text("conflictResolutionPath", "/_ts"), text("conflictResolutionProcedure", "")))
	}
	if v.Member("geospatialConfig").Kind() != sql.Object {
		v = v.WithMember("geospatialConfig", sql.ObjectValue(text("type", "Geography")))
	}
	s.properties = v
	return s, nil
}

var defaultIndexing = sql.ObjectValue(
	text("indexingMode", "consistent"),
	sql.Field{Name: "automatic", Value: sql.BoolValue(true)},
	sql.Field{Name: "includedPaths", Value: sql.ArrayValue(sql.ObjectValue(text("path", "/*")))},
	sql.Field{Name: "excludedPaths", Value: sql.ArrayValue(sql.ObjectValue(text("path", `/"_etag"/?`)))},
)

func checkPartitionKey(key sql.Value) error {
	paths := key.Member("paths")
	switch {
	case paths.Len() == 0:
		return badRequest("The partition key definition must have one path.")
	case paths.Len() > 1 || key.Member("kind").Text() == "MultiHash":
		return badRequest("Hierarchical partition keys are not supported by this account: the partition key definition must have one path.")
	case parsePartitionPath(paths.Index(0).Text()) == nil:
		return badRequest("The partition key component definition path '%s' could not be accepted.", paths.Index(0).Text())
	}
	if kind := key.Member("kind"); kind.Kind() != sql.Undefined && kind.Text() != "Hash" {
		return badRequest("The partition key kind '%s' is invalid.", kind.Text())
	}
	if version := key.Member("version"); version.Kind() != sql.Undefined {
		if n, ok := version.Integer(); !ok || n != 1 && n != 2 {
			return badRequest("The partition key version '%s' is invalid.", sql.AppendJSON(nil, version))
		}
	}
	return nil
}

// checkOrder refuses an ORDER BY of several paths for which there is no composite
// index with the same paths, in the same or the exactly opposite directions
// (Microsoft Learn, "Indexing policies in Azure Cosmos DB").
func (s *settings) checkOrder(terms []sql.OrderTerm) error {
	if len(terms) < 2 {
		return nil
	}
	indexes := s.properties.At("indexingPolicy", "compositeIndexes")
	for i := range indexes.Len() {
		if serves(indexes.Index(i), terms) {
			return nil
		}
	}
	return badRequest("The order by query does not have a corresponding composite index that it can be served from.")
}

func serves(index sql.Value, terms []sql.OrderTerm) bool {
	if index.Len() != len(terms) {
		return false
	}
	opposite := 0
	for i, term := range terms {
		entry := index.Index(i)
		if !slices.Equal(parsePartitionPath(entry.Member("path").Text()), term.Path) {
			return false
		}
		if strings.EqualFold(entry.Member("order").Text(), "descending") != term.Descending {
			opposite++
		}
	}
	return opposite == 0 || opposite == len(terms)
}

// sortsMissing reports whether ORDER BY gives items that lack the path: only
// when the indexing policy names it (Microsoft Learn, "ORDER BY clause"), and
// with composite indexes.
func (s *settings) sortsMissing(terms []sql.OrderTerm) bool {
	if len(terms) != 1 {
		return true
	}
	want := append(slices.Clone(terms[0].Path), "?")
	included := s.properties.At("indexingPolicy", "includedPaths")
	for i := range included.Len() {
		if slices.Equal(parsePartitionPath(included.Index(i).Member("path").Text()), want) {
			return true
		}
	}
	return false
}
