package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/operate"
)

// severalShards serves a front and a second shard. The front knows of t-9 that it is in
// the second one, and nothing of t-8.
func severalShards(t *testing.T) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	var other *httptest.Server
	answer := func(shard int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/shards") {
				fmt.Fprintf(w, `{"map":{"version":1,"shards":[{"number":1,"name":"a","state":"open","weight":1,"endpoints":{}},
					{"number":2,"name":"b","state":"open","weight":1,"endpoints":{"app":%q}}]}}`, other.URL)
				return
			}
			var b struct {
				Act string
				IDs []string
				Why string
			}
			if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
				t.Error(err)
			}
			*asked = append(*asked, fmt.Sprintf("%d %s %s %s", shard, b.Act, strings.Join(b.IDs, " "), b.Why))
			results := []operate.Result{}
			for _, id := range b.IDs {
				one := operate.Result{ID: id, Done: true, State: "Running"}
				switch {
				case id == "t-9" && shard == 1:
					one = operate.Result{ID: id, Result: "it belongs to shard 2", Shard: 2}
				case id == "t-8":
					one = operate.Result{ID: id, Result: "nothing is known of it"}
				}
				results = append(results, one)
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"items": results})
		}
	}
	front := httptest.NewServer(answer(1))
	other = httptest.NewServer(answer(2))
	t.Cleanup(front.Close)
	t.Cleanup(other.Close)
	return front.URL, asked
}

// Ensure that several are acted on in one request to the shard of each, that each is
// told of in its order, and that the exit says whether all was done.
func TestOpsActsOnSeveral(t *testing.T) {
	url, asked := severalShards(t)
	file := filepath.Join(t.TempDir(), "ids")
	if err := os.WriteFile(file, []byte("t-9\n\n t-2 \n"), 0o600); err != nil {
		t.Fatal(err)
	}
	exit, out, errOut := opsRun(t, "wake", "t-1", "-f", file, "-why", "mended", "-by", "ada", "-url", url)
	want := "ID   DONE  STATE    RESULT\nt-1  yes   Running  -\nt-9  yes   Running  -\nt-2  yes   Running  -\n"
	if diff := cmp.Diff(want, out); exit != exitOK || diff != "" {
		t.Errorf("exit %d %s (-want +got):\n%s", exit, errOut, diff)
	}
	if diff := cmp.Diff([]string{"1 wake t-1 t-9 t-2 mended", "2 wake t-9 mended"}, *asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	exit, out, errOut = opsRun(t, "retry", "t-1", "t-8", "-why", "mended", "-by", "ada", "-url", url, "-json")
	if exit != exitError || !strings.Contains(errOut, "1 of 2 were not done") || strings.Count(out, "\n") != 2 {
		t.Errorf("exit %d: %s%s", exit, out, errOut)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"wake", "-why", "x"}, "0 words"},
		{[]string{"quarantine", "redrive", "q", "-why", "x"}, "1 words"},
		{[]string{"retry", "-f", filepath.Join(t.TempDir(), "none"), "-why", "x"}, "no such file"},
		{[]string{"retry", "-f", os.DevNull, "-why", "x"}, "names nothing"},
		{[]string{"quarantine", "drop", "q", "-f", file, "-why", "x"}, "1 words"},
		{[]string{"wake", "a", "b"}, "-why is required"},
	} {
		if exit, out, errOut := opsRun(t, append(c.args, "-by", "ada", "-url", url)...); exit == exitOK || !strings.Contains(errOut, c.want) {
			t.Errorf("%q: exit %d, %s%s, want %s", c.args, exit, out, errOut, c.want)
		}
	}
}

// Ensure that a list passes its filter on, and writes ids as acts read them.
func TestOpsListsByFilter(t *testing.T) {
	var query string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Encode()
		fmt.Fprint(w, `{"items":[{"id":"x.1","source":"x","state":"Running","sequenceNumber":"1"},{"id":"x.2","source":"x","state":"Running","sequenceNumber":"2"}]}`)
	}))
	defer server.Close()
	exit, out, errOut := opsRun(t, "list", "-state", "open", "-cause", "failing", "-step", "drone", "-caller", "ann", "-from", "a", "-until", "b", "-ids", "-url", server.URL)
	if want := "caller=ann&cause=failing&from=a&state=open&step=drone&until=b"; exit != exitOK || query != want || out != "x.1\nx.2\n" {
		t.Errorf("exit %d, asked %s, %s%s", exit, query, out, errOut)
	}
	if _, out, _ := opsRun(t, "quarantine", "-ids", "-url", server.URL); out != "x/x.1\nx/x.2\n" {
		t.Errorf("entries:\n%s", out)
	}
	if exit, _, _ := opsRun(t, "list", "-search", "package 1", "-url", server.URL); exit != exitOK || query != "search=package+1" {
		t.Errorf("exit %d, asked %s", exit, query)
	}
}
