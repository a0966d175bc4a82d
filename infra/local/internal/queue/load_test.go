package queue

import (
	"maps"
	"testing"
	"time"
)

func TestLoadRefusesDamage(t *testing.T) {
	cfg := Config{LockDuration: time.Minute, MaxDeliveryCount: 1, DuplicateWindow: time.Hour}
	good := func() map[string][]byte {
		q := New(cfg)
		records := map[string][]byte{}
		_, c := q.Enqueue(start, message("a"), message("b"))
		_, more, _ := q.Receive(start, Main, PeekLock)
		for _, r := range append(c, more...) {
			records[r.Key] = r.Value
		}
		return records
	}
	q, err := Load(cfg, maps.All(good()))
	if err != nil {
		t.Fatalf("good records: %v", err)
	}
	wantCounts(t, q, Counts{Active: 1, Locked: 1})
	content, state := recordKey(contentPrefix, 1), recordKey(statePrefix, 1)
	for name, damage := range map[string]func(map[string][]byte){
		"content is missing":        func(r map[string][]byte) { delete(r, content) },
		"content is empty":          func(r map[string][]byte) { r[content] = nil },
		"content is cut":            func(r map[string][]byte) { r[content] = r[content][:5] },
		"content has no header":     func(r map[string][]byte) { r[content] = []byte{1, 'x'} },
		"content's number":          func(r map[string][]byte) { r[contentPrefix+"x"] = r[content] },
		"state's number":            func(r map[string][]byte) { r[statePrefix+"x"] = r[state] },
		"state is unreadable":       func(r map[string][]byte) { r[state] = []byte("{") },
		"state is none that exists": func(r map[string][]byte) { r[state] = []byte(`{"seq":1,"state":9}`) },
		"state has a short token":   func(r map[string][]byte) { r[state] = []byte(`{"seq":1,"token":"AAAA"}`) },
		"last is no number":         func(r map[string][]byte) { r[lastKey] = []byte("x") },
		"remembered id is empty":    func(r map[string][]byte) { r[sightingPrefix+"a"] = nil },
		"remembered id is cut":      func(r map[string][]byte) { r[sightingPrefix+"a"] = []byte{1} },
		"a key is unknown":          func(r map[string][]byte) { r["other"] = nil },
	} {
		records := good()
		damage(records)
		if _, err := Load(cfg, maps.All(records)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

// FuzzLoad gives one message's records: whatever they are, what loads can be
// used.
func FuzzLoad(f *testing.F) {
	q := New(Config{LockDuration: time.Minute, MaxDeliveryCount: 1})
	_, c := q.Enqueue(start, Message{ID: "a", Body: []byte("body"), TTL: time.Hour})
	_, locked, _ := q.Receive(start, Main, PeekLock)
	f.Add(c[1].Value, locked[0].Value)
	f.Add([]byte{}, []byte(`{"seq":3,"sub":1,"state":2}`))
	f.Fuzz(func(t *testing.T, content, state []byte) {
		records := map[string][]byte{
			recordKey(contentPrefix, 1): content, recordKey(statePrefix, 1): state, lastKey: []byte("9"),
		}
		q, err := Load(Config{LockDuration: time.Minute, MaxDeliveryCount: 1}, maps.All(records))
		if err != nil {
			return
		}
		now := time.Now().Add(100 * 365 * 24 * time.Hour)
		q.Advance(now)
		for _, sub := range []Sub{Main, DeadLetter} {
			if r, _, ok := q.Receive(now, sub, PeekLock); ok {
				if _, err := q.Complete(now, sub, r.Token); err != nil {
					t.Fatalf("complete: %v", err)
				}
			}
		}
	})
}
