package shard

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

// Ensure that an id says its shard, and that nobody can change what it says.
func TestClaimed(t *testing.T) {
	m := mintAt(mintedAt, idKey(t, 1))
	for _, n := range []Number{First, 2, 255, 256, 65_535} {
		id, err := m.New(TransactionIDs, "ann", n)
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := Claimed(id); !ok || got != n || !second(m.At(TransactionIDs, "ann", id)) {
			t.Errorf("%s of shard %d says %d, %v", id, n, got, ok)
		}
		raw, _ := parseID(TransactionIDs, id)
		raw[placeAt+1]++
		forged := string(TransactionIDs) + idEncoding.EncodeToString(raw)
		if got, ok := Claimed(forged); !ok || got == n || second(m.At(TransactionIDs, "ann", forged)) {
			t.Errorf("%s, forged of shard %d, says %d, %v and is known", forged, n, got, ok)
		}
	}
	operation, err := m.New(OperationIDs, "ann", 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{operation, "order-1", "", "t1-", "019be2a0-3c00-7abc-8def-0123456789ab"} {
		if n, ok := Claimed(id); ok {
			t.Errorf("%q says %d", id, n)
		}
	}
}

// today is an id that was minted, under the key of FuzzParse, before there were shards.
const today = "t1-06tm24uefc0021o9144gi289144gjf6j01pgoilnkbh9kokq"

func FuzzParse(f *testing.F) {
	key, err := NewIDKey(7, bytes.NewReader(bytes.Repeat([]byte{7}, secretBytes)))
	if err != nil {
		f.Fatal(err)
	}
	m := NewMinter([]IDKey{key}, func() time.Time { return mintedAt }, rand.NewChaCha8([32]byte{})) // the same in each process
	if n, ok := Claimed(today); !ok || n != First || !second(m.At(TransactionIDs, "ann", today)) {
		f.Fatalf("today's id is unknown, or of shard %d", n)
	}
	minted := map[string]bool{today: true}
	for _, kind := range []IDKind{TransactionIDs, OperationIDs} {
		for _, n := range []Number{First, 2, 65_535} {
			id, err := m.New(kind, "ann", n)
			if err != nil {
				f.Fatal(err)
			}
			minted[id] = true
			f.Add(id)
		}
	}
	f.Add(today)
	f.Add("t1-")
	f.Fuzz(func(t *testing.T, id string) {
		_, known := m.At(TransactionIDs, "ann", id)
		_, operation := m.At(OperationIDs, "ann", id)
		if (known || operation) && !minted[id] {
			t.Errorf("%q was never minted", id)
		}
		n, claimed := Claimed(id)
		if raw, ok := parseID(TransactionIDs, id); ok != claimed || ok && string(TransactionIDs)+idEncoding.EncodeToString(raw) != id {
			t.Errorf("%q is a second spelling, or claims %d without a form", id, n)
		}
		if claimed && !Formed(id) {
			t.Errorf("a client may choose %q", id)
		}
	})
}
