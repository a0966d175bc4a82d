package cosmos

import (
	"encoding/binary"
	"math"
	"net/http"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// The first byte of an encoded partition key value tells its type. The encoding
// is what version 2 of the service's hash is computed over.
const (
	markUndefined = 0x00
	markNull      = 0x01
	markFalse     = 0x02
	markTrue      = 0x03
	markNumber    = 0x05
	markString    = 0x08
)

// encodePartitionKey makes the key under which a partition is kept; it is false
// for arrays and objects, which can't be partition keys.
func encodePartitionKey(v sql.Value) (string, bool) {
	switch v.Kind() {
	case sql.Undefined:
		return string([]byte{markUndefined}), true
	case sql.Null:
		return string([]byte{markNull}), true
	case sql.Bool:
		if v.IsTrue() {
			return string([]byte{markTrue}), true
		}
		return string([]byte{markFalse}), true
	case sql.Number:
		return string(binary.LittleEndian.AppendUint64([]byte{markNumber}, math.Float64bits(v.Float()))), true
	case sql.String:
		return string(rune(markString)) + v.Text() + "\xff", true
	}
	return "", false
}

// soleID is the id of the only item that a partition can have where the id is the
// partition key; it shares the key's memory.
func soleID(partition string) string { return strings.TrimSuffix(partition[1:], "\xff") }

// headerPartitionKey reads the x-ms-documentdb-partitionkey header: a JSON array
// with one value, where {} stands for a document without one (Microsoft Learn,
// "Common Azure Cosmos DB REST request headers"). It is false when there is no
// header.
func headerPartitionKey(h http.Header) (key string, given bool, err error) {
	text := h.Get("x-ms-documentdb-partitionkey")
	if text == "" {
		return "", false, nil
	}
	v, err := sql.Decode([]byte(text))
	if err != nil || v.Kind() != sql.Array {
		return "", false, badRequest("Partition key %s is invalid.", text)
	}
	if v.Len() == 0 {
		return "", false, errFewerComponents()
	}
	if v.Len() > 1 {
		return "", false, badRequest("The partition key supplied in x-ms-partitionkey header has more components than defined in the collection.")
	}
	component := v.Index(0)
	if component.Kind() == sql.Object && component.Len() == 0 {
		component = sql.Value{}
	}
	key, ok := encodePartitionKey(component)
	if !ok {
		return "", false, badRequest("Partition key %s is invalid.", text)
	}
	return key, true, nil
}

// requiredPartitionKey is headerPartitionKey where the header can't be missing.
func requiredPartitionKey(h http.Header) (string, error) {
	key, given, err := headerPartitionKey(h)
	if err == nil && !given {
		err = errFewerComponents()
	}
	return key, err
}

func errFewerComponents() *apiError {
	return newError(http.StatusBadRequest, subPartitionKeyMismatch,
		"The partition key supplied in x-ms-partitionkey header has fewer components than defined in the the collection.")
}

// parsePartitionPath splits a partition key path such as /address/"zip code".
// It is nil when the path is not one.
func parsePartitionPath(path string) []string {
	if len(path) < 2 || path[0] != '/' {
		return nil
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		if len(s) > 2 && s[0] == '"' && s[len(s)-1] == '"' {
			segments[i] = s[1 : len(s)-1]
		}
		if segments[i] == "" {
			return nil
		}
	}
	return segments
}
