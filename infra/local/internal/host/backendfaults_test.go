package host

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// arrival is a request as the handler gets it.
type arrival struct{ method, transaction, body string }

// backend is a host with the backend Packages and the function Ordinary, and
// what arrives at its handler. All answers are 204.
type backend struct {
	*fixture
	faults   *fault.Injector
	arrivals chan arrival
}

func startBackend(t *testing.T) *backend {
	t.Helper()
	b := &backend{faults: fault.New(), arrivals: make(chan arrival, 100)}
	b.fixture = start(t, spec{
		proxy: true,
		functions: map[string]string{
			"Packages": httpFunctionJSON("anonymous", `"get","put","delete"`, "packages/{id}"),
			"Ordinary": httpFunctionJSON("anonymous", `"put","delete"`, "ordinary"),
		},
		answer: func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			b.arrivals <- arrival{r.Method, r.Header.Get(headerTransaction), string(body)}
			w.WriteHeader(http.StatusNoContent)
		},
		change: func(c *Config) { c.Faults, c.Backends = b.faults, []string{"Packages"} },
	})
	return b
}

// plan hits one point always, or none if it is "".
func (b *backend) plan(t *testing.T, point fault.Point, slow time.Duration) {
	t.Helper()
	p := fault.Plan{Seed: 1, SlowSeconds: slow.Seconds()}
	if point != "" {
		p.Rates = map[fault.Point]float64{point: 1}
	}
	if err := b.faults.Set(p); err != nil {
		t.Fatal(err)
	}
}

// call makes a call of the workflow. The status is 0 if there was no answer.
func (b *backend) call(ctx context.Context, t *testing.T, method, path, transaction string) (status int, problem string) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, b.url+path, strings.NewReader("of "+transaction))
	if err != nil {
		t.Fatal(err)
	}
	if transaction != "" {
		req.Header.Set(headerTransaction, transaction)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header.Get("Content-Type") + " " + string(body)
}

// wantNext wants the handler to have seen nothing but what is given since the
// last call of it.
func (b *backend) wantNext(t *testing.T, want ...arrival) {
	t.Helper()
	b.plan(t, "", 0)
	if status, _ := b.call(t.Context(), t, "GET", "/api/packages/mark", "mark"); status != http.StatusNoContent {
		t.Fatalf("without faults: status %d", status)
	}
	for _, w := range append(want, arrival{"GET", "mark", "of mark"}) {
		if got := receive(t, b.arrivals); got != w {
			t.Errorf("the handler got %+v, want %+v", got, w)
		}
	}
}

func TestFaultsOfBackendCalls(t *testing.T) {
	b := startBackend(t)
	for point, want := range map[fault.Point]struct {
		status int
		done   bool
	}{
		fault.BackendError:                {http.StatusServiceUnavailable, false},
		fault.BackendReset:                {0, false},
		fault.BackendAnswerLost:           {0, true},
		fault.BackendSlow:                 {http.StatusNoContent, true},
		fault.BackendAway.Of("Packages"):  {http.StatusServiceUnavailable, false},
		fault.BackendError.Of("Packages"): {http.StatusServiceUnavailable, false},
		fault.BackendReset.Of("Packages"): {0, false},
		fault.BackendReset.Of("Accounts"): {http.StatusNoContent, true},
		fault.BackendUndoRefused:          {http.StatusNoContent, true}, // a PUT is no undo
	} {
		t.Run(string(point), func(t *testing.T) {
			b.plan(t, point, time.Millisecond)
			if status, _ := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx"); status != want.status {
				t.Errorf("status %d, want %d", status, want.status)
			}
			if want.done {
				b.wantNext(t, arrival{"PUT", "tx", "of tx"})
			} else {
				b.wantNext(t)
			}
		})
	}
}

func TestFaultsSpareOtherCalls(t *testing.T) {
	b := startBackend(t)
	everything := fault.Plan{Rates: map[fault.Point]float64{}}
	for _, info := range fault.Points {
		if !info.Act {
			everything.Rates[info.Point] = 1
		}
	}
	if err := b.faults.Set(everything); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ path, transaction string }{{"/api/packages/1", ""}, {"/api/ordinary", "tx"}} {
		for _, method := range []string{"PUT", "DELETE"} {
			if status, _ := b.call(t.Context(), t, method, c.path, c.transaction); status != http.StatusNoContent {
				t.Errorf("%s %s: status %d", method, c.path, status)
			}
			receive(t, b.arrivals)
		}
	}
	if counts := b.faults.Counts(); len(counts) > 0 {
		t.Errorf("counts %v, want none", counts)
	}
}

// Ensure that a slow call has not reached the handler while it waits, and never
// does when its client gives up.
func TestSlowCallOfAClientThatLeaves(t *testing.T) {
	b := startBackend(t)
	b.plan(t, fault.BackendSlow, 10*time.Minute)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan int)
	go func() {
		// Without a body, so that the server sees the client leave.
		req, err := http.NewRequestWithContext(ctx, "DELETE", b.url+"/api/packages/1", nil)
		if err != nil {
			t.Error(err)
		}
		req.Header.Set(headerTransaction, "tx")
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
			t.Error("an answer to a call that waits")
		}
		close(left)
	}()
	eventually(t, "the call waits", func() bool { return b.faults.Counts()[fault.BackendSlow].Hit == 1 })
	leave()
	receive(t, left)
	b.wantNext(t)
}

// Ensure that a late call is not there at once.
func TestLateCallIsOnItsWay(t *testing.T) {
	b := startBackend(t)
	for range 5 {
		b.plan(t, fault.BackendLate, 10*time.Minute)
		if status, _ := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx"); status != 0 {
			t.Fatalf("a late call was answered: %d", status)
		}
		b.wantNext(t)
	}
}

// Ensure that a late call arrives right behind the undo of what it asks for, with
// all that belongs to it, and another one in its time.
func TestLateCallArrivesAfterItsUndo(t *testing.T) {
	b := startBackend(t)
	b.plan(t, fault.BackendLate, 10*time.Minute)
	for _, path := range []string{"/api/packages/1", "/api/packages/2"} {
		if status, _ := b.call(t.Context(), t, "PUT", path, "tx"); status != 0 {
			t.Fatalf("a late call was answered: %d", status)
		}
	}
	b.plan(t, "", 0)
	if status, _ := b.call(t.Context(), t, "DELETE", "/api/packages/1", "tx"); status != http.StatusNoContent {
		t.Fatalf("DELETE: %d", status)
	}
	for _, want := range []arrival{{"DELETE", "tx", "of tx"}, {"PUT", "tx", "of tx"}} {
		if got := receive(t, b.arrivals); got != want {
			t.Errorf("arrived is %+v, want %+v", got, want)
		}
	}
	b.wantNext(t)
}

// Ensure that a late call arrives in its time, and one that only reads is not late.
func TestLateCallArrivesInItsTime(t *testing.T) {
	b := startBackend(t)
	b.plan(t, fault.BackendLate, time.Millisecond)
	if status, _ := b.call(t.Context(), t, "PUT", "/api/packages/1", "tx"); status != 0 {
		t.Fatalf("a late call was answered: %d", status)
	}
	if got := receive(t, b.arrivals); got != (arrival{"PUT", "tx", "of tx"}) {
		t.Errorf("arrived is %+v", got)
	}
	if status, _ := b.call(t.Context(), t, "GET", "/api/packages/1", "tx"); status == 0 {
		t.Error("a call that reads was late")
	}
}

// Ensure that late calls neither hold up the end of a host nor bring it down.
func TestLateCallsAndTheEndOfTheHost(t *testing.T) {
	inside := make(chan struct{})
	faults := fault.New()
	f := start(t, spec{
		proxy: true, functions: map[string]string{"Packages": httpFunctionJSON("anonymous", `"put"`, "packages")},
		answer: func(_ http.ResponseWriter, r *http.Request) {
			close(inside)
			<-r.Context().Done()
		},
		change: func(c *Config) { c.Faults, c.Backends = faults, []string{"Packages"} },
	})
	for _, slow := range []float64{0.001, 600} { // one that is with the handler, one that is on its way
		if err := faults.Set(fault.Plan{Rates: map[fault.Point]float64{fault.BackendLate: 1}, SlowSeconds: slow}); err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequest("PUT", f.url+"/api/packages", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(headerTransaction, "tx")
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
			t.Fatal("a late call was answered")
		}
	}
	receive(t, inside)
	f.stop()
	if err := f.end(t); err != nil {
		t.Errorf("Run: %v", err)
	}
}

// Ensure that the undo of a chosen transaction is refused again and again, and
// that of others never.
func TestRefusedUndo(t *testing.T) {
	b := startBackend(t)
	plan := fault.Plan{Seed: 7, Rates: map[fault.Point]float64{fault.BackendUndoRefused: 0.5}}
	if err := b.faults.Set(plan); err != nil {
		t.Fatal(err)
	}
	seen := map[bool]int{}
	other := fault.NewInstance("instance 2")
	if err := other.Set(plan); err != nil {
		t.Fatal(err)
	}
	for n := range 10 {
		tx := fmt.Sprint("tx", n)
		refused := other.HitKey(fault.BackendUndoRefused, tx)
		seen[refused]++
		for range 2 {
			status, answer := b.call(t.Context(), t, "DELETE", "/api/packages/1", tx)
			if refused && (status != http.StatusConflict || !strings.HasPrefix(answer, `application/problem+json {"type":"conflict"`)) {
				t.Errorf("%s: %d %s, want a refusal", tx, status, answer)
			}
			if !refused && status != http.StatusNoContent {
				t.Errorf("%s: %d %s, want 204", tx, status, answer)
			}
		}
	}
	if seen[true] == 0 || seen[false] == 0 {
		t.Errorf("refused and not: %v; the seed shows nothing", seen)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}
