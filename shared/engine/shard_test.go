package engine

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that an envelope is taken by its own shard alone, and that one of before there
// were shards is the first one's.
func TestShardOfAnEnvelope(t *testing.T) {
	for _, of := range []shard.Number{0, shard.First, 2} {
		body, err := Envelope{TransactionID: "t-1", Wake: 1, AcceptedAt: time.Unix(0, 0), Shard: of}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if named := strings.Contains(string(body), "shard"); named != (of == 2) {
			t.Errorf("of shard %d: %s", of, body)
		}
		for _, here := range []shard.Number{0, shard.First, 2, 3} {
			e, err := DecodeIn(here, body)
			if want := of.OrFirst() == here.OrFirst(); (err == nil) != want || !want && !errors.Is(err, ErrOtherShard) || want && e.TransactionID != "t-1" {
				t.Errorf("of shard %d in %d: %+v, %v", of, here, e, err)
			}
		}
	}
	if _, err := DecodeIn(2, []byte("{}")); !errors.Is(err, ErrUnreadable) {
		t.Error(err)
	}
}
