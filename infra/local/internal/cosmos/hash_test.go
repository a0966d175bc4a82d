package cosmos

import (
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// Ensure the hashes that the service documents and its SDKs test for (the
// partition key hash baseline), with the two top bits of version 2 cleared.
func TestHashPartitionKey(t *testing.T) {
	for _, tc := range []struct {
		name  string
		value sql.Value
		want  string
	}{
		{"undefined", sql.Value{}, "11622DAA78F835834610ABE56EFF5CB5"},
		{"null", sql.NullValue(), "378867E4430E67857ACE5C908374FE16"},
		{"true", sql.BoolValue(true), "0E711127C5B5A8E4726AC6DD306A3E59"},
		{"false", sql.BoolValue(false), "2FE1BE91E90A3439635E0E9E37361EF2"},
		{"empty", sql.StringValue(""), "32E9366E637A71B4E710384B2F4970A0"},
		{"short", sql.StringValue("asdf"), "208BF1D598F5B63AD5520F04FE58C5E8"},
		{"99 bytes", sql.StringValue(strings.Repeat("a", 99)), "3C02F609961C32AAC2B912B940D1209A"},
	} {
		key, ok := encodePartitionKey(tc.value)
		if !ok {
			t.Fatalf("%s: not a partition key", tc.name)
		}
		if got := hashPartitionKey(key).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	if _, ok := encodePartitionKey(sql.ArrayValue()); ok {
		t.Error("an array is taken for a partition key")
	}
}

// Ensure that bounds ascend from zero and that values spread over all ranges.
func TestRangesShareKeys(t *testing.T) {
	for _, ranges := range []int{1, 2, 7} {
		c := containerOf(t, `{"paths":["/pk"],"version":2}`, ranges)
		for i := range ranges - 1 {
			if !c.bounds[i].below(c.bounds[i+1]) {
				t.Errorf("bound %d is %v, then comes %v", i, c.bounds[i], c.bounds[i+1])
			}
		}
		counts := make([]int, ranges)
		for i := range 100 * ranges {
			key, _ := encodePartitionKey(sql.IntegerValue(int64(i)))
			counts[c.rangeOf(key).index]++
		}
		for i, n := range counts {
			if n < 50 {
				t.Errorf("range %d of %d has %d of %d keys", i, ranges, n, 100*ranges)
			}
		}
	}
}

// Ensure that clients which hash by version 1 in their own ways find everything.
func TestVersion1HasOneRange(t *testing.T) {
	for _, key := range []string{`{"paths":["/pk"]}`, `{"paths":["/pk"],"version":1}`} {
		if c := containerOf(t, key, 5); len(c.ranges) != 1 {
			t.Errorf("%s: %d ranges", key, len(c.ranges))
		}
	}
}

func containerOf(t *testing.T, partitionKey string, ranges int) *container {
	t.Helper()
	v, err := sql.Decode([]byte(`{"partitionKey":` + partitionKey + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return newContainer(&database{}, "c", 1, ranges, &settings{properties: v})
}
