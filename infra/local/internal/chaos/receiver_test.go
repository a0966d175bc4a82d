package chaos

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/notify"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// tell posts news until the receiver has taken it, as the app does.
func tell(t *testing.T, r *receiver, id string) {
	t.Helper()
	key, err := notify.ParseSigningKey("whsk_" + base64.StdEncoding.EncodeToString(r.seed))
	if err != nil {
		t.Fatal(err)
	}
	body := `{"id":"` + id + `"}`
	for range 50 {
		req, err := http.NewRequest(http.MethodPost, r.url, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if err := notify.Sign(req.Header, id, time.Now(), []byte(body), key); err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			continue // the answer was lost
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusNoContent {
			return
		}
	}
	t.Fatalf("%s is not taken", id)
}

func TestReceiver(t *testing.T) {
	r, err := listen(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	for n := range 100 {
		tell(t, r, "t-1/"+string(rune('a'+n%26)))
	}
	tell(t, r, "t-2/1")
	s := invariant.Snapshot{Stored: trial.Stored{Transactions: []workflow.Progress{
		{ID: "t-2", Outbox: workflow.Outbox{Count: 1}},
		{ID: "t-3", Outbox: workflow.Outbox{Count: 1, Notices: []workflow.Notice{{Number: 1}}}}, // the invariants' to find
	}}}
	news, findings := r.check(s)
	if len(findings) != 0 || news.Told != 27 || news.Again < 74 || news.Refused == 0 {
		t.Errorf("news %+v, findings %v", news, findings)
	}
	s.Transactions[0].Outbox.Count = 2
	if _, findings := r.check(s); len(findings) != 1 || findings[0].ID != "t-2" {
		t.Errorf("findings %v, want the second end of t-2", findings)
	}

	resp, err := http.Post(r.url, "application/json", strings.NewReader(`{"id":"t-2/2"}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, findings := r.check(s); resp.StatusCode != http.StatusUnauthorized || len(findings) != 2 {
		t.Errorf("without a signature: %d, findings %v", resp.StatusCode, findings)
	}
}

// Ensure that no web page tells the receiver anything.
func TestPagesTellNoNews(t *testing.T) {
	r, err := listen(1, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}()
	req, err := http.NewRequest(http.MethodPost, r.url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Origin", "https://evil.example")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("answered %d", resp.StatusCode)
	}
}

// Ensure that a handler is killed before the receiver takes its news, or behind
// it, and for what is news alone.
func TestBringersOfNewsDie(t *testing.T) {
	for _, c := range []struct {
		ending string
		told   []string // before
		dies   bool
		want   int
	}{{effect.Before, nil, true, 0}, {effect.Answer, nil, true, 1}, {effect.Answer, []string{"t-1/1"}, false, 1}} {
		dir := t.TempDir()
		if err := (effect.Plan{Run: "0a1b2c3d", Points: map[string]int{effect.Notice + c.ending: 1}}).Write(dir); err != nil {
			t.Fatal(err)
		}
		watch, err := effect.Open(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r, err := listen(5, watch) // whose first two pieces of news are taken, and answered
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range c.told {
			tell(t, r, id)
		}
		handler := exec.CommandContext(t.Context(), fake(t, "lives"))
		if err := handler.Start(); err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(t.Context())
		go func() {
			_ = handler.Wait() // it is killed
			hangUp()
		}()
		status := bring(ctx, t, r, fmt.Sprintf("0a1b2c3d0001.%d", handler.Process.Pid), "t-1/1")
		if dead := status == 0; dead != c.dies {
			t.Errorf("%s: answered %d", c.ending, status)
		}
		if err := r.server.Shutdown(t.Context()); err != nil { // waits for what is held
			t.Error(err)
		}
		if deaths, err := effect.Deaths(dir); err != nil || (len(deaths) == 1) != c.dies || len(r.told) != c.want {
			t.Errorf("%s: deaths %v, %v, %d told", c.ending, deaths, err, len(r.told))
		}
		_ = handler.Process.Kill() // unless it is dead
		<-ctx.Done()
		watch.Close()
	}
}

// bring brings news as a handler does, and returns what it is answered, 0 for
// nothing.
func bring(ctx context.Context, t *testing.T, r *receiver, agent, id string) int {
	t.Helper()
	body := `{"id":"` + id + `"}`
	key, err := notify.ParseSigningKey("whsk_" + base64.StdEncoding.EncodeToString(r.seed))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", agent+" fabrikam")
	if err := notify.Sign(req.Header, id, time.Now(), []byte(body), key); err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}
