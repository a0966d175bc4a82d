package main

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

// freePort returns a port that was free a moment ago.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func TestRunReportsEveryFaultOfItsSettings(t *testing.T) {
	var stdout, stderr syncBuffer
	code := run(context.Background(), func(string) string { return "" }, &stdout, &stderr)
	if code != exitFatal {
		t.Errorf("exit code %d", code)
	}
	for _, name := range []string{"FUNCTIONS_CUSTOMHANDLER_PORT", "EventHubs", "ServiceBus", "CosmosDB", "BACKEND_DRONE_URL"} {
		if !strings.Contains(stderr.String(), name) {
			t.Errorf("%s is not reported:\n%s", name, stderr.String())
		}
	}
}

func TestRunReportsWhatTheAdaptersRefuse(t *testing.T) {
	var stdout, stderr syncBuffer
	code := run(context.Background(), environment("http://localhost", "CosmosDB", "AccountEndpoint=http://127.0.0.1:1;AccountKey=!"), &stdout, &stderr)
	if code != exitFatal || stderr.String() == "" {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

func TestRunWithoutItsPort(t *testing.T) {
	taken, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	var stdout, stderr syncBuffer
	code := run(context.Background(), environment("http://localhost", "FUNCTIONS_CUSTOMHANDLER_PORT", port), &stdout, &stderr)
	if code != exitFatal || !strings.Contains(stderr.String(), "address already in use") {
		t.Errorf("exit code %d: %s", code, stderr.String())
	}
}

// TestRunServesAtOnceWithoutItsServices starts the real handler with nothing
// behind it: it answers quickly, says what it lacks, and ends as the host
// wants it to.
func TestRunServesAtOnceWithoutItsServices(t *testing.T) {
	port := freePort(t)
	var stdout, stderr syncBuffer
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	start := time.Now()
	go func() {
		code <- run(ctx, environment("http://localhost", "FUNCTIONS_CUSTOMHANDLER_PORT", port), &stdout, &stderr)
	}()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	get := func(path string) int {
		resp, err := client.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for get("/") != http.StatusOK {
		if <-tick.C; time.Since(start) > 10*time.Second {
			t.Fatalf("it does not answer: %s", stderr.String())
		}
	}
	if got := get("/api/live"); got != http.StatusOK {
		t.Errorf("live: %d", got)
	}
	if got := get("/api/ready"); got != http.StatusServiceUnavailable {
		t.Errorf("ready: %d", got)
	}
	cancel()
	if got := <-code; got != exitStopped {
		t.Errorf("exit code %d: %s", got, stderr.String())
	}
	if strings.Contains(stdout.String(), "azE=") {
		t.Errorf("the log shows a key: %s", stdout.String())
	}
}
