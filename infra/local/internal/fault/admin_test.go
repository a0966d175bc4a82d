package fault

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ask(h http.Handler, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func decodeReport(t *testing.T, w *httptest.ResponseRecorder) report {
	t.Helper()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		t.Fatalf("status %d, %s: %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var out report
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestAdmin(t *testing.T) {
	in := New()
	h := Admin(in)
	first := ask(h, http.MethodGet, "/faults", "")
	if body := first.Body.String(); !strings.Contains(body, `"rates":{}`) || !strings.Contains(body, `"counts":{}`) {
		t.Errorf("without a plan: %s", body)
	}
	want := Plan{Seed: 1<<64 - 1, Rates: map[Point]float64{AMQPDrop: 1, HandlerKill: 3}, SlowSeconds: 0.5}
	body, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, decodeReport(t, ask(h, http.MethodPut, "/faults", string(body))).Plan); diff != "" {
		t.Errorf("the answer to PUT: %s", diff)
	}
	in.Hit(AMQPDrop)
	got := decodeReport(t, ask(h, http.MethodGet, "/faults", ""))
	if diff := cmp.Diff(report{Plan: want, Counts: map[Point]Count{AMQPDrop: {1, 1}}, Points: Points}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAdminRefuses(t *testing.T) {
	in := injector(t, only(1, AMQPDrop, 1))
	h := Admin(in)
	for _, c := range []struct {
		method, path, body string
		status             int
		parts              []string
	}{
		{http.MethodPut, "/faults", `{"seed":1,"rates":{"amqp.drop":2,"amqp.odd":0.1,"host.stop":-1},"slowSeconds":-1}`,
			http.StatusBadRequest, []string{"amqp.drop", "amqp.odd", "host.stop", "slowSeconds"}},
		{http.MethodPut, "/faults", `{"seed":-1,"rate":{}}`, http.StatusBadRequest, []string{"/seed", "/rate"}},
		{http.MethodPut, "/faults", `{"rates":{"amqp.drop":0},"rates":{}}`, http.StatusBadRequest, []string{"/rates"}},
		{http.MethodPut, "/faults", `{}{}`, http.StatusBadRequest, []string{"behind"}},
		{http.MethodPut, "/faults", `{`, http.StatusBadRequest, []string{"line 1"}},
		{http.MethodPut, "/faults", "", http.StatusBadRequest, []string{"empty"}},
		{http.MethodPut, "/faults", `{"seed":` + strings.Repeat(" ", maxPlanBytes) + `1}`, http.StatusRequestEntityTooLarge, nil},
		{http.MethodPost, "/faults", "{}", http.StatusMethodNotAllowed, nil},
		{http.MethodDelete, "/faults", "", http.StatusMethodNotAllowed, nil},
		{http.MethodGet, "/", "", http.StatusNotFound, nil},
	} {
		w := ask(h, c.method, c.path, c.body)
		if w.Code != c.status {
			t.Errorf("%s %s %.80s: status %d, want %d", c.method, c.path, c.body, w.Code, c.status)
		}
		for _, part := range c.parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s: %q is not in %s", c.body, part, w.Body)
			}
		}
		if c.status == http.StatusMethodNotAllowed && w.Header().Get("Allow") == "" {
			t.Error("405 without Allow")
		}
	}
	if !in.Hit(AMQPDrop) || in.Plan().Rates[AMQPDrop] != 1 {
		t.Error("what was refused changed something")
	}
}
