package host

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// call is an invocation as a handler sees it.
type call struct {
	path   string
	header http.Header
	Data   map[string]json.RawMessage

	Metadata map[string]json.RawMessage
}

func readCall(r *http.Request) call {
	c := call{path: r.URL.Path, header: r.Header}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &c) // a broken one fails the assertions
	return c
}

func TestAdminInvokesATimer(t *testing.T) {
	calls := make(chan call, 1)
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, answer: func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		ok(w, r)
	}})
	if status, _ := f.do(t, "POST", "/admin/functions/sweep", `{"input":""}`); status != http.StatusAccepted {
		t.Fatalf("status %d", status)
	}
	c := receive(t, calls)
	if c.path != "/Sweep" || c.header.Get("Content-Type") != "application/json; charset=utf-8" || len(c.header.Get("X-Azure-Functions-InvocationId")) != 36 {
		t.Errorf("%s %v", c.path, c.header)
	}
	if got := string(c.Data["timer"]); got != `{"Schedule":{"AdjustForDST":true},"ScheduleStatus":null,"IsPastDue":false}` {
		t.Errorf("data: %s", got)
	}
	var sys struct{ MethodName string }
	if err := json.Unmarshal(c.Metadata["sys"], &sys); err != nil || sys.MethodName != "Sweep" {
		t.Errorf("sys: %s, %v", c.Metadata["sys"], err)
	}
	f.logs.until(t, "Executed 'Functions.Sweep' (Succeeded)")
	for _, tc := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/admin/functions/Nobody", "{}", 404},
		{"POST", "/admin/functions/Sweep", "no json", 400},
		{"GET", "/admin/functions/Nobody", "", 404},
		{"GET", "/admin/functions/Sweep", "", 200},
		{"GET", "/admin/functions", "", 200},
		{"GET", "/admin/host/ping", "", 200},
		{"POST", "/admin/host/drain", "", 404},
	} {
		if status, _ := f.do(t, tc.method, tc.path, tc.body); status != tc.want {
			t.Errorf("%s %s: %d, want %d", tc.method, tc.path, status, tc.want)
		}
	}
	if _, body := f.do(t, "GET", "/admin/host/status", ""); !strings.Contains(body, `"state":"Running"`) {
		t.Errorf("status: %s", body)
	}
}

func TestAdminRefusesHTTPFunctions(t *testing.T) {
	f := start(t, spec{proxy: true, functions: map[string]string{"H": httpFunctionJSON("anonymous", `"get"`, "h")}})
	if status, _ := f.do(t, "POST", "/admin/functions/H", "{}"); status != http.StatusBadRequest {
		t.Errorf("status %d", status)
	}
}

func TestFailuresOfAnswers(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"status":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"sniffed": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") },
		"broken":  func(w http.ResponseWriter, _ *http.Request) { reply(w, "{") },
	}
	var current atomic.Value
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, answer: func(w http.ResponseWriter, r *http.Request) {
		answers[current.Load().(string)](w, r)
	}})
	pid := f.HandlerPID()
	for name, want := range map[string]string{"status": "a status outside 2xx: 500", "sniffed": "application/json, not", "broken": "not the JSON object"} {
		current.Store(name)
		f.do(t, "POST", "/admin/functions/Sweep", "{}")
		f.logs.until(t, want)
	}
	if f.HandlerPID() != pid {
		t.Error("a failed answer restarted the handler")
	}
}

func TestEmptyAnswerIsTreatedAsTheTimeout(t *testing.T) {
	var calls atomic.Int32
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, answer: func(w http.ResponseWriter, r *http.Request) {
		if calls.Add(1) > 1 {
			ok(w, r)
		}
	}})
	pid := f.HandlerPID()
	f.do(t, "POST", "/admin/functions/Sweep", "{}")
	f.logs.until(t, "the real host never treats as an end")
	f.logs.until(t, "was killed by the host and starts again")
	f.do(t, "POST", "/admin/functions/Sweep", "{}")
	f.logs.until(t, "Executed 'Functions.Sweep' (Succeeded)")
	if f.HandlerPID() == pid {
		t.Error("the handler was not restarted")
	}
}

// TestTimeoutTakesAllInvocations holds that one function's timeout fails the
// other invocations that run.
func TestTimeoutTakesAllInvocations(t *testing.T) {
	t.Parallel()
	inside := make(chan struct{}, 2)
	f := start(t, spec{timeout: "00:00:01", functions: map[string]string{"A": timerFn, "B": timerFn}, answer: func(_ http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-r.Context().Done()
	}})
	f.do(t, "POST", "/admin/functions/A", "{}")
	receive(t, inside)
	f.do(t, "POST", "/admin/functions/B", "{}")
	receive(t, inside)
	f.logs.until(t, "Timeout value of 1s was exceeded by function: Functions.") // whose timer comes first
	f.logs.until(t, "Executed 'Functions.A' (Failed)")
	f.logs.until(t, "Executed 'Functions.B' (Failed)")
	select {
	case err := <-f.result:
		f.result <- err
		t.Errorf("Run ended: %v", err)
	default:
	}
}

func TestExitCodeZeroLeavesADeadHandler(t *testing.T) {
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(exitHeader, "0")
	}})
	f.do(t, "POST", "/admin/functions/Sweep", "{}")
	f.logs.until(t, "exited with code 0")
	f.do(t, "POST", "/admin/functions/Sweep", "{}")
	f.logs.until(t, "connection refused")
}

func TestNewReportsProblems(t *testing.T) {
	c, _ := configure(t, spec{proxy: true, functions: map[string]string{
		"A": httpFunctionJSON("anonymous", `"get"`, "same/{id}"), "B": httpFunctionJSON("anonymous", `"get","put"`, "same/{other}"),
	}, settings: map[string]string{"WEBSITE_TIME_ZONE": "Nowhere/Else"}})
	defer c.Listener.Close()
	_, err := New(c)
	if err == nil || !strings.Contains(err.Error(), "B/function.json: route") || !strings.Contains(err.Error(), "WEBSITE_TIME_ZONE") {
		t.Errorf("New: %v", err)
	}
}

func TestStopEndsARunningCall(t *testing.T) {
	inside := make(chan struct{})
	f := start(t, spec{functions: map[string]string{"Sweep": timerFn}, change: func(c *Config) { c.ShutdownTimeout = 1 },
		answer: func(_ http.ResponseWriter, r *http.Request) {
			inside <- struct{}{}
			<-r.Context().Done()
		}})
	f.do(t, "POST", "/admin/functions/Sweep", "{}")
	receive(t, inside)
	f.stop()
	if err := f.end(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	if f.HandlerPID() != 0 {
		t.Error("the handler still runs")
	}
}
