package contract

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// The map of the shards is one document, which is written by one at a time.
func TestAdaptersMaps(t *testing.T) {
	s := cosmosdb.NewMaps(adaptersOpen(t))
	ctx := t.Context()
	_, _, err := s.Read(ctx)
	adaptersKind(t, "read before any write", err, failure.NotFound)
	first, _, err := shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"}).
		Apply(shard.Change{Act: shard.ActPin, Caller: "ann/1", Shard: shard.First}, time.Unix(1, 0).UTC(), "ada", "because")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, first, ""); err != nil {
		t.Fatal(err)
	}
	adaptersKind(t, "a second first one", s.Write(ctx, first, ""), failure.Conflict)
	got, etag, err := s.Read(ctx)
	if diff := cmp.Diff(first, got); err != nil || diff != "" || etag == "" {
		t.Fatalf("read: %v, ETag %q, (-want +got):\n%s", err, etag, diff)
	}
	next, _, err := first.Apply(shard.Change{Act: shard.ActUnpin, Caller: "ann/1"}, time.Unix(2, 0).UTC(), "ada", "because")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write(ctx, next, etag); err != nil {
		t.Fatal(err)
	}
	adaptersKind(t, "a write over another's", s.Write(ctx, first, etag), failure.Conflict)
	if got, _, err := s.Read(ctx); err != nil || got.Version != 2 || len(got.Pins) != 0 {
		t.Errorf("after a refused write: %+v, %v", got, err)
	}
}
