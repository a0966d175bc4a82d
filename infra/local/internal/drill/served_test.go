package drill

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/ops"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// app answers as Operations does, by what is asked for.
func app(t *testing.T, answers map[string]any) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[strings.TrimPrefix(r.URL.RequestURI(), "/api/operations/")]
		if !known {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func ofFront(t *testing.T, url string) *Served {
	t.Helper()
	front, err := ops.NewClient(url, ops.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Served{Apps: ops.NewApps(front, ops.Secret{}), By: "ada"}
	t.Cleanup(s.Apps.Close)
	return s
}

// Ensure that a shard whose app doesn't answer is named, although all is well in the others.
func TestAShardIsMissing(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	m := &shard.Map{Shards: []shard.Shard{
		{Number: 1, Name: "first", State: shard.Open}, {Number: 2, Name: "second", State: shard.Open, Endpoints: shard.Endpoints{App: gone.URL}},
	}}
	s := ofFront(t, app(t, map[string]any{"shards": operate.ShardsView{Map: m}, "status": operate.Status{}}).URL)
	all, err := s.Unusual(t.Context())
	if err != nil || len(all) != 1 || all[0].Key != Missing || !strings.Contains(all[0].Says, "shard 2 (second) is missing") {
		t.Errorf("%v: %+v", err, all)
	}
	if all, err := ofFront(t, gone.URL).Unusual(t.Context()); err == nil {
		t.Errorf("nobody answers: %+v", all)
	}
}

// Ensure that the drill decides about what came since its beginning alone, wherever it is
// in the list, and says what could not be done.
func TestDecides(t *testing.T) {
	began := time.Now()
	entry := func(id string, at time.Time) quarantine.Entry {
		return quarantine.Entry{ID: id, Source: "hub", At: at}
	}
	s := ofFront(t, app(t, map[string]any{
		"shards":                               operate.ShardsView{},
		"quarantine?state=Kept":                ops.Page[quarantine.Entry]{Continuation: "b"},
		"quarantine?continuation=b&state=Kept": ops.Page[quarantine.Entry]{Items: []quarantine.Entry{entry("old", began.Add(-time.Second)), entry("new", began)}},
		"acts":                                 ops.Page[operate.Result]{Items: []operate.Result{{ID: "hub/new", Result: "it is on its way"}}},
	}).URL)
	if err := s.Act(t.Context(), string(quarantine.ActDrop), began); err == nil || !strings.Contains(err.Error(), "drop hub/new: it is on its way") {
		t.Errorf("%v", err)
	}
}
