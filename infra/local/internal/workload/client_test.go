package workload

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// lossy is a service that takes requests and does not always say so. It gives
// its answers in the order of the script, and good ones after that.
type lossy struct {
	mu     sync.Mutex
	script []string
	calls  []string            // method and path, with the key
	taken  map[string][]string // ids of the transactions, by the package
}

// The answers of a lossy service.
const (
	busy       = "busy"       // 503, nothing taken
	unsure     = "unsure"     // 503, taken, with the id
	stopping   = "stopping"   // 503 of the host, nothing taken, which it does not say
	throttled  = "throttled"  // 429, nothing taken
	crashed    = "crashed"    // 500, taken
	cut        = "cut"        // taken, the connection is cut
	silent     = "silent"     // taken, no answer
	unreadable = "unreadable" // 400
)

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	var request drawn
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			return nil, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, strings.TrimSpace(r.Method+" "+r.URL.Path+" "+r.Header.Get("Idempotency-Key")))
	step := ""
	if len(l.script) > 0 {
		step, l.script = l.script[0], l.script[1:]
	}
	answer := httptest.NewRecorder()
	switch step {
	case busy:
		problem(answer, http.StatusServiceUnavailable, `{"title":"Busy","detail":"nothing was accepted"}`)
		return answer.Result(), nil
	case stopping:
		http.Error(answer, "the host is stopping", http.StatusServiceUnavailable)
		return answer.Result(), nil
	case throttled:
		answer.Header().Set("Retry-After", "7")
		http.Error(answer, "too many", http.StatusTooManyRequests)
		return answer.Result(), nil
	case unreadable:
		problem(answer, http.StatusBadRequest, `{"title":"Invalid"}`)
		return answer.Result(), nil
	case "refused":
		return nil, &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	id := l.take(r, request)
	switch step {
	case unsure:
		problem(answer, http.StatusServiceUnavailable, `{"title":"Unavailable","transactionId":"`+id+`"}`)
	case crashed:
		http.Error(answer, "the handler did not answer", http.StatusInternalServerError)
	case cut:
		return nil, io.ErrUnexpectedEOF
	case silent:
		<-r.Context().Done()
		return nil, r.Context().Err()
	default:
		answer.WriteHeader(http.StatusAccepted)
		io.WriteString(answer, `{"transactionId":"`+id+`","operationId":"o"}`)
	}
	return answer.Result(), nil
}

// take takes a request, as the service does: under its id, or its key, or else
// as a new one.
func (l *lossy) take(r *http.Request, request drawn) string {
	id := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/api/things"), "/")
	if id == "" {
		id = r.Header.Get("Idempotency-Key")
	}
	if id == "" {
		id = "minted-" + string(rune('a'+len(l.calls)))
	}
	name := request.Name
	if !slices.Contains(l.taken[name], id) {
		l.taken[name] = append(l.taken[name], id)
	}
	return id
}

func problem(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// Ensure a client repeats what it may, never what could become two requests,
// and says what it does not know.
func TestClientNeverSendsTwice(t *testing.T) {
	const path = "/api/things"
	cases := map[string]struct {
		id, key string
		script  []string
		want    []string // calls
		err     error
		status  int
	}{
		"answered":           {"", "", nil, []string{"POST " + path}, nil, 0},
		"refused for good":   {"", "", []string{unreadable}, []string{"POST " + path}, nil, 400},
		"busy":               {"", "", []string{busy, busy}, []string{"POST " + path, "POST " + path, "POST " + path}, nil, 0},
		"throttled":          {"", "", []string{throttled}, []string{"POST " + path, "POST " + path}, nil, 0},
		"not reached":        {"", "", []string{"refused"}, []string{"POST " + path, "POST " + path}, nil, 0},
		"may be taken":       {"", "", []string{unsure}, []string{"POST " + path, "PUT " + path + "/minted-b"}, nil, 0},
		"may be taken twice": {"", "", []string{unsure, cut}, []string{"POST " + path, "PUT " + path + "/minted-b", "PUT " + path + "/minted-b"}, nil, 0},
		"cut":                {"", "", []string{cut}, []string{"POST " + path}, ErrUnanswered, 0},
		"silent":             {"", "", []string{silent}, []string{"POST " + path}, ErrUnanswered, 0},
		"crashed":            {"", "", []string{crashed}, []string{"POST " + path}, ErrUnanswered, 500},
		"host stops":         {"", "", []string{stopping}, []string{"POST " + path}, ErrUnanswered, 503},
		"key, all":           {"", "k", []string{busy, cut, silent, crashed, stopping, throttled}, slices.Repeat([]string{"POST " + path + " k"}, 7), nil, 0},
		"id, all":            {"i", "", []string{busy, unsure, cut, silent, crashed, stopping}, slices.Repeat([]string{"PUT " + path + "/i"}, 7), nil, 0},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service := &lossy{script: c.script, taken: map[string][]string{}}
				seen := 0
				client := NewClient(ClientOptions{URL: "http://service", Resource: "things", Timeout: 5 * time.Second, Seen: func(Exchange) { seen++ }})
				client.http.Transport = service
				it := Item{Name: "n", Body: json.RawMessage(`{"name":"n"}`)}
				it.ID, it.Key = c.id, c.key
				r, err := client.Submit(t.Context(), it)
				taken := c.err == nil && c.status == 0
				if taken != (err == nil && r.OperationID == "o") || errors.Is(err, ErrUnanswered) != (c.err != nil) || Status(err) != c.status {
					t.Errorf("%+v, %v; want error %v, status %d", r, err, c.err, c.status)
				}
				if !slices.Equal(service.calls, c.want) || seen != len(c.want) {
					t.Errorf("%d exchanges, calls %q\nwant %q", seen, service.calls, c.want)
				}
				if ids := service.taken[it.Name]; len(ids) > 1 {
					t.Errorf("taken %d times: %v", len(ids), ids)
				}
			})
		})
	}
}

func TestClientWaitsAsLongAsItIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := NewClient(ClientOptions{URL: "http://service", Resource: "things"})
		client.http.Transport = &lossy{script: []string{throttled}, taken: map[string][]string{}}
		begun := time.Now()
		if _, err := client.Cancel(t.Context(), "i", "k"); err != nil {
			t.Fatal(err)
		}
		if waited := time.Since(begun); waited != 7*time.Second {
			t.Errorf("waited %v, want 7s", waited)
		}
	})
}

func TestClientStopsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := NewClient(ClientOptions{URL: "http://service", Resource: "things"})
		client.http.Transport = &lossy{script: slices.Repeat([]string{busy}, 1000), taken: map[string][]string{}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := client.Cancel(ctx, "i", "k"); !errors.Is(err, context.DeadlineExceeded) || Status(err) != 503 {
			t.Errorf("%v, want the end of the time and what was answered last", err)
		}
	})
}
