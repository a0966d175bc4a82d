package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestServeShowsInvocations follows a delivery through the lines of a real handler:
// whoever renames what it logs sees it here.
func TestServeShowsInvocations(t *testing.T) {
	p := launch(t, "serve", "-invocations", "-ephemeral", "-app", app, "-http", "0", "-amqp", "0", "-cosmos", "0")
	p.until(t, "Ctrl-C stops everything")
	text, err := os.ReadFile(filepath.Join(filepath.Dir(app), "local", "endpoints.json"))
	if err != nil {
		t.Fatal(err)
	}
	var endpoints struct{ HTTP string }
	if err := json.Unmarshal(text, &endpoints); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, url: "http://" + endpoints.HTTP}
	s.put("seen", 1)
	lines := p.until(t, "Running → Completed")
	for _, want := range []string{
		`^\d\d:\d\d:\d\d\.\d{3}  Ingest .* ms  PUT /api/deliveryrequests/seen 202$`,
		`^\S+  Relay .* ms  1 of partition \d$`,
		`^\S+  Accounts  +seen  +\d+ ms  GET /api/account/owner-1 200$`,
		`^\S+  Schedule  +seen  +\d+ ms  Accepted → Running → Completed$`,
	} {
		if !slices.ContainsFunc(lines, regexp.MustCompile(want).MatchString) {
			t.Errorf("no line %s in\n%s", want, strings.Join(lines, "\n"))
		}
	}
	resp, err := http.Get(s.url + "/api/deliveryrequests/unseen")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	p.until(t, "GET /api/deliveryrequests/unseen 404")
}

// Ensure that a failure is told from the rest, for people by colour and for scripts by
// a field, and that what never ends isn't kept for ever.
func TestFailedInvocation(t *testing.T) {
	var out strings.Builder
	f := newInvocations(&display{out: &out})
	f.colour = true
	failed := `{"time":"2026-11-23T04:40:27.242Z","level":"ERROR","msg":"invocation failed","duration.ms":206,"error":"no","function":"Schedule","invocation.id":"i","message.id":"m"}`
	f.follow([]byte(failed))
	if line := out.String(); !strings.HasPrefix(line, "\x1b[31m") || !strings.HasSuffix(line, " 206 ms  failed: no\x1b[0m\n") {
		t.Errorf("%q", line)
	}
	out.Reset()
	f.d.json = true
	f.follow([]byte(`{"msg":"starting"}`))
	f.follow([]byte("panic: no JSON"))
	f.follow([]byte(failed))
	want := `{"time":"2026-11-23T04:40:27.242Z","function":"Schedule","invocation":"i","id":"m","happened":"failed: no","failed":true,"ms":206}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n := range 3 * mostUnderWay {
		f.follow(fmt.Appendf(nil, `{"msg":"relayed","partition":"1","events":1,"function":"Relay","invocation.id":"%d"}`, n))
	}
	if len(f.underWay) > mostUnderWay {
		t.Errorf("%d are remembered", len(f.underWay))
	}
}
