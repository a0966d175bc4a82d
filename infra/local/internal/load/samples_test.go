package load

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestSamplesOfATrial(t *testing.T) {
	made := ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.URL.Path == "/api/refused" {
			http.Error(w, "no", http.StatusTeapot)
			return
		}
		made += r.Method + " " + r.URL.Path + " " + string(body)
	}))
	defer server.Close()
	draw := func(kind string) func(trial.Draw) any {
		return func(d trial.Draw) any { return map[string]any{"kind": kind, "id": d.Name, "n": d.Random.IntN(1000)} }
	}
	tr := trial.Trial{
		Kinds: []trial.Kind{
			{Name: "malformed", Draw: draw("malformed")}, {Name: "odd", Percent: 5, End: workflow.Rejected, Draw: draw("odd")},
			{Name: "usual", End: workflow.Completed, Draw: draw("usual")},
		},
		Before: []trial.Call{{Method: "PUT", Path: "stock/1", Body: 7}},
		Settings: func(requests int) map[string]string {
			return map[string]string{"STOCK": strings.Repeat("9", requests/2500)}
		},
		Answers: map[string]any{"stock": map[string]int{"left": 1}},
	}
	s, err := FromTrial(tr, "orders", []string{"stock", "ship"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range 3 {
		var body struct {
			Kind, ID string
		}
		if err := json.Unmarshal(s.Body(n), &body); err != nil || body.Kind != "usual" || ids[body.ID] {
			t.Errorf("%+v, %v; seen %v", body, err, ids)
		}
		ids[body.ID] = true
	}
	want := map[string]string{"STOCK": "9999", "BACKEND_STOCK_URL": "http://mock/stock", "BACKEND_SHIP_URL": "http://mock/ship"}
	if diff := cmp.Diff(want, s.Mocked("http://mock")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]json.RawMessage{"stock": []byte(`{"left":1}`)}, s.Answers); diff != "" {
		t.Error(diff)
	}
	if err := s.Before(t.Context(), server.URL); err != nil || made != "PUT /api/stock/1 7" {
		t.Errorf("%s, %v", made, err)
	}
	if err := before([]trial.Call{{Method: "PUT", Path: "refused"}})(t.Context(), server.URL); err == nil || !strings.Contains(err.Error(), "PUT refused: status 418: no") {
		t.Errorf("%v", err)
	}
	if _, err := FromTrial(trial.Trial{Kinds: tr.Kinds[:2]}, "orders", nil, 1); err == nil {
		t.Error("a trial without a usual kind is taken")
	}
}

func TestSamplesOfAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "samples.json")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"requests": [{"id": "a-{{id}}", "at": "{{now}}", "by": "{{tomorrow}}"}, {"second": true}]}`)
	s, err := Samples{Resource: "orders"}.WithRequests(path)
	if err != nil {
		t.Fatal(err)
	}
	var first, third struct {
		ID     string
		At, By time.Time
	}
	if err := json.Unmarshal(s.Body(0), &first); err != nil || first.By.Sub(first.At) != 24*time.Hour || time.Since(first.At).Abs() > time.Minute {
		t.Errorf("%+v, %v", first, err)
	}
	if err := json.Unmarshal(s.Body(2), &third); err != nil || third.ID == first.ID {
		t.Errorf("%+v, %v", third, err)
	}
	if got := string(s.Body(1)); got != `{"second": true}` {
		t.Errorf("%s", got)
	}
	for text, want := range map[string]string{`{"requests": []}`: "no requests", `[`: "unexpected end"} {
		write(text)
		if _, err := (Samples{}).WithRequests(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
