package shard

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

var mintedAt = time.Date(2030, 5, 6, 12, 0, 0, 123_000_000, time.UTC)

func idKey(t *testing.T, number byte) IDKey {
	t.Helper()
	k, err := NewIDKey(number, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func mintAt(now time.Time, keys ...IDKey) *Minter {
	return NewMinter(keys, func() time.Time { return now }, rand.Reader)
}

func mintID(t *testing.T, m *Minter, kind IDKind, whom string) string {
	t.Helper()
	id, err := m.New(kind, whom, First)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Ensure that an id is known for what it is, by whom it was minted for, and by
// nobody else and as nothing else.
func TestMintedIsKnown(t *testing.T) {
	m := mintAt(mintedAt, idKey(t, 1))
	id := mintID(t, m, TransactionIDs, "ann")
	if got, ok := m.At(TransactionIDs, "ann", id); !ok || !got.Equal(mintedAt) {
		t.Errorf("minted at %v, %v", got, ok)
	}
	if !problem.ValidID(id) || !Formed(id) {
		t.Errorf("%s can't travel", id)
	}
	for what, known := range map[string]bool{
		"another's": second(m.At(TransactionIDs, "bob", id)), "nobody's": second(m.At(TransactionIDs, "", id)),
		"an operation": second(m.At(OperationIDs, "ann", id)), "an operation by name": second(m.At(OperationIDs, "ann", "o1-"+id[3:])),
		"by another key of the number": second(mintAt(mintedAt, idKey(t, 1)).At(TransactionIDs, "ann", id)), "by another number": second(mintAt(mintedAt, IDKey{2, m.keys[0].secret}).At(TransactionIDs, "ann", id)),
	} {
		if known {
			t.Errorf("known as %s", what)
		}
	}
}

func second[T any](_ T, ok bool) bool { return ok }

// Ensure that no id is known that differs from a minted one in any sign, and that
// there is no second spelling of one.
func TestForgedIsUnknown(t *testing.T) {
	m := mintAt(mintedAt, idKey(t, 1))
	id := mintID(t, m, TransactionIDs, "")
	for i := range len(id) {
		for _, c := range []byte("0123456789abcdefghijklmnopqrstuvwxyz-.") {
			forged := id[:i] + string(c) + id[i+1:]
			if forged == id {
				continue
			}
			if second(m.At(TransactionIDs, "", forged)) {
				t.Errorf("%s is taken for %s", forged, id)
			}
		}
	}
	for _, other := range []string{strings.ToUpper(id), id + "0", id[:len(id)-1], id[:20] + "\n" + id[20:], id + "\n", " " + id, ""} {
		if second(m.At(TransactionIDs, "", other)) || Formed(other) {
			t.Errorf("%q is taken for %s", other, id)
		}
	}
	for _, other := range []string{"order-1", "t1-order", "019be2a0-3c00-7abc-8def-0123456789ab", "ada8c628-a22b-5676-818e-4b3f9a64f198"} {
		if Formed(other) {
			t.Errorf("a client may not choose %s", other)
		}
	}
	if forged := string(TransactionIDs) + strings.Repeat("0", len(id)-3); !Formed(forged) || second(m.At(TransactionIDs, "", forged)) {
		t.Errorf("%s is not taken for a forged one", forged)
	}
}

// Ensure that keys rotate: the new one is made known, then mints, then the old one
// is forgotten.
func TestKeysRotate(t *testing.T) {
	one, two := idKey(t, 1), idKey(t, 2)
	before, announced, turned, after := mintAt(mintedAt, one), mintAt(mintedAt, one, two), mintAt(mintedAt, two, one), mintAt(mintedAt, two)
	old, young := mintID(t, announced, TransactionIDs, ""), mintID(t, turned, TransactionIDs, "")
	for what, got := range map[string]bool{
		"old before": second(before.At(TransactionIDs, "", old)), "old while": second(turned.At(TransactionIDs, "", old)), "young while": second(announced.At(TransactionIDs, "", young)),
		"young after": second(after.At(TransactionIDs, "", young)), "old not after": !second(after.At(TransactionIDs, "", old)), "young not before": !second(before.At(TransactionIDs, "", young)),
	} {
		if !got {
			t.Error(what)
		}
	}
}

func TestIDsSortByTimeAndDiffer(t *testing.T) {
	k := idKey(t, 200)
	var ids []string
	for i := range 100 {
		ids = append(ids, mintID(t, mintAt(mintedAt.Add(time.Duration(i)*time.Millisecond), k), OperationIDs, "x"))
	}
	if !slices.IsSorted(ids) {
		t.Error("they don't sort by time")
	}
	m := mintAt(mintedAt, k)
	if a, b := mintID(t, m, TransactionIDs, ""), mintID(t, m, TransactionIDs, ""); a == b || a[:15] != b[:15] {
		t.Errorf("%s and %s", a, b)
	}
}

func TestNoRandomNumbers(t *testing.T) {
	m := NewMinter([]IDKey{idKey(t, 1)}, time.Now, bytes.NewReader(nil))
	if id, err := m.New(TransactionIDs, "", First); !errors.Is(err, io.EOF) {
		t.Errorf("%s, %v", id, err)
	}
	if _, err := NewIDKey(1, bytes.NewReader(make([]byte, 31))); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

func TestParseKeys(t *testing.T) {
	one, two := idKey(t, 1), idKey(t, 255)
	keys, err := ParseIDKeys(two.Reveal() + ", " + one.Reveal())
	if err != nil || len(keys) != 2 || keys[0].Number != 255 || keys[0].Reveal() != two.Reveal() || keys[1].Reveal() != one.Reveal() {
		t.Errorf("%v, %v", keys, err)
	}
	if keys, err := ParseIDKeys(""); err != nil || keys != nil {
		t.Errorf("of nothing: %v, %v", keys, err)
	}
	secret := base64.StdEncoding.EncodeToString(one.secret)
	for _, text := range []string{
		"1", secret, "." + secret, "256." + secret, "-1." + secret, "1." + secret[:40], "1." + secret + ",", "1." + secret + ",1." + two.Reveal()[4:],
	} {
		if _, err := ParseIDKeys(text); !errors.Is(err, ErrIDKeys) || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v %s", one, one, one, []IDKey{one}); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprint(one.secret)) {
		t.Errorf("shows its secret: %s", text)
	}
}

func BenchmarkMint(b *testing.B) {
	k, err := NewIDKey(1, rand.Reader)
	if err != nil {
		b.Fatal(err)
	}
	m := NewMinter([]IDKey{k}, time.Now, rand.Reader)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.New(TransactionIDs, "tenant/object", First); err != nil {
			b.Fatal(err)
		}
	}
}
