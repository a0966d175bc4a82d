package bench

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/page"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Ensure that viewers ask for what the page asks for, as often.
func TestViewersAskWhatThePageAsks(t *testing.T) {
	script, err := os.ReadFile("../../../../shared/page/page.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		fmt.Sprintf("const POLL = %d ", pageEvery.Milliseconds()), "now: { read: () => call('" + strings.TrimPrefix(pageAsks, operate.Path+"/") + "'),",
		"fetch('" + operate.Path + "/' + path", "refresh() }, POLL)",
	} {
		if !strings.Contains(string(script), want) {
			t.Errorf("the page's script has no %q", want)
		}
	}
	var files []string
	for _, e := range page.Endpoints("x", settings.Auth{}) {
		files = append(files, e.Path)
	}
	if diff := cmp.Diff(files, pageFiles); diff != "" {
		t.Error(diff)
	}
}

// Ensure that each viewer opens the page, and then asks in its turn; and that an answer
// that is none is seen.
func TestViewers(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]int{}
	from := map[string]bool{} // connections
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Path]++
		from[r.RemoteAddr] = true
		if asked["/api/operations/status"] == 12 {
			http.Error(w, "not now", http.StatusServiceUnavailable)
		}
	}))
	defer app.Close()
	v := newViewers(app.URL, 2)
	defer v.close()
	if err := v.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"/api/ops": 2, "/api/ops/page.css": 2, "/api/ops/page.js": 2, "/api/ops/config": 2, "/api/operations/status": 2}
	if diff := cmp.Diff(want, asked); diff != "" || len(from) != 2 {
		t.Errorf("%d connections, %s", len(from), diff)
	}
	if r := v.look(t.Context(), time.Millisecond); r.Accepted != 1 || r.Failed != 0 {
		t.Errorf("%+v", r)
	}
	crowd := newViewers(app.URL, 500) // 100 requests a second
	defer crowd.close()
	if r := crowd.look(t.Context(), 100*time.Millisecond); r.Offered != 10 || r.Failed != 1 || !strings.Contains(r.Failure, "status 503: not now") {
		t.Errorf("%+v", r)
	}
}

func TestViewedCheck(t *testing.T) {
	ms := func(n int) load.Latency {
		return load.Latency{P50: time.Duration(n) * time.Millisecond / 2, P99: time.Duration(n) * time.Millisecond}
	}
	rounds := []Viewed{{10, ms(100), ms(104), ms(20)}, {10, ms(100), ms(200), ms(30)}, {10, ms(100), ms(90), ms(10)}}
	c := viewedCheck(rounds)
	if !c.Met || c.Got != "1.04 (0.90 to 2.00)" || c.What != "p99 of accepting with 10 viewers, times that without" {
		t.Errorf("%+v", c)
	}
	rounds[0].With = ms(106)
	if c := viewedCheck(rounds); c.Met || c.Lost {
		t.Errorf("%+v", c)
	}
	got := viewedRows([]*Outcome{{Scenario: "spike"}, {Scenario: "viewers", Viewed: rounds}})
	want := []string{"| viewers | 0 | 50.0 (50.0 to 50.0) | 100.0 (100.0 to 100.0) | | |\n", "| viewers | 10 | 53.0 (45.0 to 100.0) | 106.0 (90.0 to 200.0) | 10.0 (5.0 to 15.0) | 20.0 (10.0 to 30.0) |\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCostRows(t *testing.T) {
	got := costRows([]*Outcome{{Scenario: "status", Stored: 1000, Costs: []Cost{{"a status", 2, 17.42, 3456 * time.Microsecond}}}})
	if diff := cmp.Diff([]string{"| status | 1000 | a status | 2 | 17.4 | 3.5 |\n"}, got); diff != "" {
		t.Error(diff)
	}
}
