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
		name   string
		value  sql.Value
		v1, v2 string
	}{
		{"undefined", sql.Value{}, "000000000000000000000000514E28B7", "11622DAA78F835834610ABE56EFF5CB5"},
		{"null", sql.NullValue(), "000000000000000000000000E45AD1AB", "378867E4430E67857ACE5C908374FE16"},
		{"true", sql.BoolValue(true), "0000000000000000000000005E2A8076", "0E711127C5B5A8E4726AC6DD306A3E59"},
		{"false", sql.BoolValue(false), "0000000000000000000000006C27D09F", "2FE1BE91E90A3439635E0E9E37361EF2"},
		{"empty", sql.StringValue(""), "0000000000000000000000003CCCB0FF", "32E9366E637A71B4E710384B2F4970A0"},
		{"short", sql.StringValue("asdf"), "000000000000000000000000B02BABC2", "208BF1D598F5B63AD5520F04FE58C5E8"},
		{"99 bytes", sql.StringValue(strings.Repeat("a", 99)), "000000000000000000000000CCC122D9", "3C02F609961C32AAC2B912B940D1209A"},
	} {
		key, ok := encodePartitionKey(tc.value)
		if !ok {
			t.Fatalf("%s: not a partition key", tc.name)
		}
		if got := hashPartitionKey(key, 1).String(); got != tc.v1 {
			t.Errorf("%s, version 1: %s, want %s", tc.name, got, tc.v1)
		}
		if got := hashPartitionKey(key, 2).String(); got != tc.v2 {
			t.Errorf("%s, version 2: %s, want %s", tc.name, got, tc.v2)
		}
	}
	if _, ok := encodePartitionKey(sql.ArrayValue()); ok {
		t.Error("an array is taken for a partition key")
	}
}

// Ensure that bounds ascend from zero and that values spread over all ranges.
func TestRangesShareKeys(t *testing.T) {
	for _, version := range []string{"1", "2"} {
		for _, ranges := range []int{1, 2, 7} {
			v, err := sql.Decode([]byte(`{"partitionKey":{"paths":["/pk"],"version":` + version + `}}`))
			if err != nil {
				t.Fatal(err)
			}
			c := newContainer(&database{}, "c", 1, ranges, &settings{properties: v})
			for i := range ranges - 1 {
				if !c.bounds[i].below(c.bounds[i+1]) {
					t.Errorf("version %s: bound %d is %v, then comes %v", version, i, c.bounds[i], c.bounds[i+1])
				}
			}
			counts := make([]int, ranges)
			for i := range 100 * ranges {
				key, _ := encodePartitionKey(sql.IntegerValue(int64(i)))
				counts[c.rangeOf(key).index]++
			}
			for i, n := range counts {
				if n < 50 {
					t.Errorf("version %s: range %d of %d has %d of %d keys", version, i, ranges, n, 100*ranges)
				}
			}
		}
	}
}
