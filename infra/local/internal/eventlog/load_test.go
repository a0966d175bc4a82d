package eventlog

import (
	"maps"
	"testing"
	"time"
)

func TestLoadRefusesDamage(t *testing.T) {
	cfg := Config{Retention: time.Hour}
	good := func() map[string][]byte {
		p := New(cfg)
		records := map[string][]byte{}
		for range 3 {
			_, c := p.Append(time.Unix(1e9, 0), nil, [][]byte{[]byte("a"), []byte("b")})
			for _, r := range c {
				records[r.Key] = r.Value
			}
		}
		return records
	}
	if _, err := Load(cfg, maps.All(good())); err != nil {
		t.Fatalf("good records: %v", err)
	}
	second := "events/0000000000000002"
	for name, damage := range map[string]func(map[string][]byte){
		"a batch is missing":    func(r map[string][]byte) { delete(r, second) },
		"the end is behind":     func(r map[string][]byte) { r[endKey] = []byte(`{"next":4}`) },
		"the end is unreadable": func(r map[string][]byte) { r[endKey] = []byte(`{`) },
		"a batch is cut":        func(r map[string][]byte) { r[second] = r[second][:len(r[second])-1] },
		"a batch is too long":   func(r map[string][]byte) { r[second] = append(r[second], 'x') },
		"a batch has no size":   func(r map[string][]byte) { r[second] = nil },
		"a batch has no header": func(r map[string][]byte) { r[second] = []byte{3, '{', '{', '{'} },
		"a number is no number": func(r map[string][]byte) { r["events/x"] = r[second] },
		"a key is unknown":      func(r map[string][]byte) { r["other"] = nil },
	} {
		records := good()
		damage(records)
		if _, err := Load(cfg, maps.All(records)); err == nil {
			t.Errorf("%s: loaded", name)
		}
	}
}

func TestRetentionIsDue(t *testing.T) {
	now := time.Unix(1e9, 0)
	p := New(Config{Retention: time.Hour})
	if _, ok := p.NextDue(); ok {
		t.Error("something is due in an empty partition")
	}
	p.Append(now, nil, [][]byte{[]byte("a")})
	if _, ok := p.NextDue(); ok {
		t.Error("uncommitted events are due")
	}
	p.Commit(1)
	if at, ok := p.NextDue(); !ok || !at.Equal(now.Add(time.Hour)) {
		t.Errorf("due at %v, %v", at, ok)
	}
	// A clock that goes back doesn't make events older than their predecessors.
	p.Append(now.Add(-time.Minute), nil, [][]byte{[]byte("b")})
	p.Commit(2)
	if got := p.Properties().LastEnqueuedAt; !got.Equal(now) {
		t.Errorf("enqueued at %v", got)
	}
}
