package ingest

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// realMint is a mint with a key of its own.
func realMint(t *testing.T, now time.Time) *shard.Minter {
	t.Helper()
	key, err := shard.NewIDKey(1, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return shard.NewMinter([]shard.IDKey{key}, func() time.Time { return now }, rand.Reader)
}

func newID(t *testing.T, m *shard.Minter, kind shard.IDKind, whom string) string {
	t.Helper()
	id, err := m.New(kind, whom, shard.First)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Ensure that an id of the minted form that was never minted for its caller is
// unknown to everything, and leaves nothing behind.
func TestForgedIDs(t *testing.T) {
	b := newBench()
	m := realMint(t, noon)
	b.c.Known.Mint = m
	for name, id := range map[string]string{
		"forged":            newID(t, realMint(t, noon), shard.TransactionIDs, "ann"),
		"another's":         newID(t, m, shard.TransactionIDs, "bob"),
		"an operation's":    newID(t, m, shard.OperationIDs, operationOf("x", "ann")),
		"made up, UUIDv7":   "019be2a0-3c00-7abc-8def-0123456789ab",
		"made up of zeroes": "t1-000000000000000000000000000000000000000000000000",
	} {
		t.Run(name, func(t *testing.T) {
			for _, key := range []string{"", "key"} {
				_, patched := b.Patch(t.Context(), id, input(`{"a":2}`), key)
				_, deleted := b.Delete(t.Context(), id, input(""), key)
				for _, err := range []error{patched, deleted} {
					if !failure.Is(err, failure.NotFound) {
						t.Errorf("a change: %v", err)
					}
				}
			}
			if _, err := b.Put(t.Context(), id, input(`{"a":1}`)); shard.Formed(id) && !failure.Is(err, failure.NotFound) {
				t.Errorf("a put: %v", err)
			}
			if _, err := b.c.Known.AcceptedAt(t.Context(), id, "ann"); shard.Formed(id) && !failure.Is(err, failure.NotFound) {
				t.Errorf("asked for: %v", err)
			}
			if _, kept := b.requests.kept[id]; kept != !shard.Formed(id) {
				t.Errorf("kept %v", kept)
			}
		})
	}
	if len(b.log.events) != 1 { // the UUIDv7 is a client's id like any other
		t.Errorf("sent %d events", len(b.log.events))
	}
}

// Ensure that whom an id was minted for goes on under it, before anything is
// stored.
func TestMintedIDs(t *testing.T) {
	b := newBench()
	b.c.Known.Mint = realMint(t, noon)
	r, err := b.Post(t.Context(), input(`{"a":1}`), "")
	if err != nil {
		t.Fatal(err)
	}
	if at, err := b.c.Known.AcceptedAt(t.Context(), r.TransactionID, "ann"); err != nil || !at.Equal(noon) {
		t.Errorf("asked for: %v, %v", at, err)
	}
	if _, ok := b.c.Known.Operation(r.OperationID, r.TransactionID, "ann"); !ok {
		t.Error("its operation is unknown")
	}
	for _, other := range [][2]string{{r.TransactionID, "bob"}, {"other", "ann"}, {r.OperationID, "ann"}} {
		if _, ok := b.c.Known.Operation(r.OperationID, other[0], other[1]); ok {
			t.Errorf("its operation is known as %v's", other)
		}
	}
	for name, do := range map[string]func() error{
		"put":    func() error { _, err := b.Put(t.Context(), r.TransactionID, input(`{"a":1}`)); return err },
		"delete": func() error { _, err := b.Delete(t.Context(), r.TransactionID, input(""), ""); return err },
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Ensure that what was accepted under an id that is no longer known is served: it
// has a document.
func TestIDOfAForgottenKey(t *testing.T) {
	b := newBench()
	b.c.Known.Mint = realMint(t, noon)
	id := newID(t, realMint(t, noon), shard.TransactionIDs, "ann")
	p := ofAnn(workflow.Running)
	p.ID = id
	p.Operations[0].Hash = workflow.Hash(workflow.OperationStart, id, []byte(`{"a":1}`))
	b.transactions.documents[id] = p
	if r, err := b.Put(t.Context(), id, input(`{"a":1}`)); err != nil || !r.Repeated {
		t.Errorf("put: %+v, %v", r, err)
	}
	if _, err := b.Delete(t.Context(), id, input(""), ""); err != nil {
		t.Errorf("delete: %v", err)
	}
}

// Ensure that nobody takes the place of another's key, though anyone can compute
// what stands for it, and that nobody learns whether a key was used.
func TestSquattedKeys(t *testing.T) {
	for name, squat := range map[string]func(b *bench) error{
		"the id that it had": func(b *bench) error {
			_, err := b.Put(t.Context(), keyID("ann", "key"), inputOf("bob", `{"a":2}`))
			return err
		},
		"before callers were known": func(b *bench) error {
			_, err := b.Put(t.Context(), keyID("ann", "key"), inputOf("", `{"a":2}`))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			if err := squat(b); err != nil {
				t.Fatal(err)
			}
			first, err := b.Post(t.Context(), input(`{"a":1}`), "key")
			if err != nil || first.Repeated || first.TransactionID == keyID("ann", "key") {
				t.Fatalf("the owner of the key: %+v, %v", first, err)
			}
			again, err := b.Post(t.Context(), input(`{"a":1}`), "key")
			first.Repeated = true
			want(t, again, err, first)
			if _, err := b.Post(t.Context(), input(`{"a":3}`), "key"); !errors.Is(err, ErrKeyReused) {
				t.Errorf("other content: %v", err)
			}
		})
	}
	if problem.ValidID(KeyPrefix + "x") {
		t.Error("a client can take a key's own place")
	}
	b := newBench()
	if _, err := b.Post(t.Context(), input(`{"a":1}`), "key"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Put(t.Context(), keyID("ann", "key"), inputOf("bob", `{"a":2}`)); err != nil {
		t.Errorf("an outsider learns that a key was used: %v", err)
	}
}

// Ensure that a repeat of what an older version kept under a key's own id gets
// the ids that it got then.
func TestKeyOfAnOlderVersion(t *testing.T) {
	b := newBench()
	old := RequestRecord{
		ID: keyID("ann", "key"), TransactionID: keyID("ann", "key"), OperationID: "o-1", Operation: workflow.OperationStart,
		Hash: workflow.Hash(workflow.OperationStart, keyID("ann", "key"), []byte(`{"a":1}`)), Caller: "ann", AcceptedAt: noon,
	}
	b.requests.kept[old.ID] = old
	r, err := b.Post(t.Context(), input(`{"a":1}`), "key")
	want(t, r, err, Result{TransactionID: keyID("ann", "key"), OperationID: "o-1", Repeated: true})
	if len(b.requests.kept) != 1 || b.mint.minted != 0 {
		t.Errorf("kept %v, minted %d", b.requests.kept, b.mint.minted)
	}
}
