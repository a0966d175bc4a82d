package delivery

import (
	"testing"
	"time"
)

func TestNewIDTellsWhenItWasMinted(t *testing.T) {
	before := time.Now().Truncate(time.Millisecond)
	id, err := NewID()
	if err != nil {
		t.Fatal(err)
	}
	at, ok := MintedAt(id)
	if !ok || at.Before(before) || at.After(time.Now().Add(time.Second)) {
		t.Errorf("%s was minted at %v, %v; it was %v", id, at, ok, before)
	}
	if !ValidID(id) {
		t.Errorf("%s is no valid id", id)
	}
	next, err := NewID()
	if err != nil || next <= id {
		t.Errorf("%s does not follow %s, %v", next, id, err)
	}
}

func TestMintedAtRefusesOthers(t *testing.T) {
	const minted = "019be2a0-3c00-7abc-8def-0123456789ab"
	if at, ok := MintedAt(minted); !ok || at.UnixMilli() != 0x019be2a03c00 {
		t.Errorf("%v, %v", at, ok)
	}
	for _, id := range []string{
		"", "order-1", "019BE2A0-3C00-7ABC-8DEF-0123456789AB", "019be2a03c007abc8def0123456789ab",
		"{019be2a0-3c00-7abc-8def-0123456789ab}", "urn:uuid:019be2a0-3c00-7abc-8def-0123456789ab",
		"019be2a0-3c00-4abc-8def-0123456789ab", // version 4
		"019be2a0-3c00-7abc-cdef-0123456789ab", // another variant
		KeyID("caller", "key"),
	} {
		if at, ok := MintedAt(id); ok {
			t.Errorf("%q was minted at %v", id, at)
		}
	}
}

func TestKeyIDKeepsCallersApart(t *testing.T) {
	// The ids that were given out once must stay.
	if got, want := KeyID("caller", "key"), "ada8c628-a22b-5676-818e-4b3f9a64f198"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	seen := map[string]string{}
	for _, pair := range [][2]string{{"a", "bc"}, {"ab", "c"}, {"", "abc"}, {"abc", ""}, {"1:a", "b"}, {"a", "b"}} {
		id := KeyID(pair[0], pair[1])
		if other, ok := seen[id]; ok || !ValidID(id) {
			t.Errorf("%v has the id %s, as %s", pair, id, other)
		}
		seen[id] = pair[0] + "," + pair[1]
	}
}
