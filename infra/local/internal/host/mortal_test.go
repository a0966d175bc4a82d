package host

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// callerVar makes the test binary a handler that calls the URL in it twice.
const callerVar = "HOST_TEST_CALLER"

// TestCallersDieAtTheirCalls kills a process that calls a function: before the
// function is called, or before its answer is there.
func TestCallersDieAtTheirCalls(t *testing.T) {
	if url := os.Getenv(callerVar); url != "" {
		doomed(t, url)
		return
	}
	const run = "0a1b2c3d"
	for name, c := range map[string]struct {
		instance, point string
		status          int
		changed         bool
		calls           int // that reach the function
		answers         string
	}{
		"before":              {run + "0001", "call.PUT.Packages.before", http.StatusCreated, true, 1, "201 PUT "},
		"behind":              {run + "0001", "call.PUT.Packages.answer", http.StatusCreated, true, 2, "201 PUT "},
		"behind a repeat":     {run + "0001", "call.PUT.Packages.answer", http.StatusOK, false, 2, "200 PUT 200 PUT "},
		"before a repeat":     {run + "0001", "call.PUT.Packages.before", http.StatusOK, false, 1, "200 PUT "},
		"a refusal":           {run + "0001", "call.PUT.Packages.answer", http.StatusConflict, true, 2, "409 PUT 409 PUT "},
		"another method":      {run + "0001", "call.DELETE.Packages.before", http.StatusCreated, true, 2, "201 PUT 201 PUT "},
		"another function":    {run + "0001", "call.PUT.Accounts.before", http.StatusCreated, true, 2, "201 PUT 201 PUT "},
		"no handler of a run": {"ffffffff0001", "call.PUT.Packages.before", http.StatusCreated, true, 2, "201 PUT 201 PUT "},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := 2
			if strings.HasSuffix(c.point, effect.Answer) && (c.status == http.StatusConflict || !c.changed) {
				at = 1 // which never comes
			}
			if err := (effect.Plan{Run: run, Points: map[string]int{c.point: at}}).Write(dir); err != nil {
				t.Fatal(err)
			}
			watch, err := effect.Open(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			calls := 0
			h := &Host{cfg: Config{Crashes: watch}}
			serve := h.mortal(&config.Function{Name: "Packages"}, func(w http.ResponseWriter, r *http.Request, _ map[string]string) {
				body, err := io.ReadAll(r.Body)
				if err != nil || len(body) == 0 {
					t.Errorf("body %q, %v", body, err)
				}
				calls++
				w.Header().Set("Method", r.Method)
				if c.changed {
					w.Header().Set(record.HeaderChanged, "true")
				}
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte("body"))
			})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, nil) }))
			defer server.Close()

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestCallersDieAtTheirCalls$")
			cmd.Env = append(os.Environ(), callerVar+"="+server.URL, "WEBSITE_INSTANCE_ID="+c.instance)
			output, err := cmd.Output()
			var exit *exec.ExitError
			if err != nil && (!errors.As(err, &exit) || exit.Exited()) || ctx.Err() != nil {
				t.Fatalf("the caller failed: %v: %s", err, output)
			}
			server.Close() // waits for the call that is held
			answers, _, _ := strings.Cut(string(output), "PASS")
			if answers != c.answers || calls != c.calls {
				t.Errorf("%d calls, answers %q; want %d, %q", calls, answers, c.calls, c.answers)
			}
			want := map[string]int{}
			if err != nil {
				want[c.point] = 1
			}
			deaths, err := effect.Deaths(dir)
			if diff := cmp.Diff(want, deaths); err != nil || diff != "" {
				t.Errorf("deaths: %v\n%s", err, diff)
			}
		})
	}
}

// doomed is the process that is killed. It writes what it is answered.
func doomed(t *testing.T, url string) {
	t.Helper()
	for range 2 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("User-Agent", telemetry.Process())
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || string(body) != "body" {
			t.Fatalf("answer %q, %v", body, err)
		}
		_ = resp.Body.Close() // it is read whole
		_, _ = os.Stdout.WriteString(strings.Fields(resp.Status)[0] + " " + resp.Header.Get("Method") + " ")
	}
	http.DefaultClient.CloseIdleConnections()
}
