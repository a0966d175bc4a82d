package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// opsRun carries out a call of ops, and returns its exit code and output.
func opsRun(t *testing.T, args ...string) (exit int, out, errOut string) {
	t.Helper()
	var o, e bytes.Buffer
	exit = run(t.Context(), console{args: append([]string{"ops"}, args...), out: &o, errOut: &e})
	return exit, o.String(), e.String()
}

func TestOpsMistakesInTheCall(t *testing.T) {
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, c := range map[string]struct {
		args []string
		exit int
		want string
	}{
		"nothing":         {nil, exitUsage, "name a verb"},
		"unknown verb":    {[]string{"frobnicate"}, exitUsage, `unknown "frobnicate"`},
		"no id":           {[]string{"show"}, exitUsage, "ops show: 0 words, want ID"},
		"id too many":     {[]string{"show", "a", "b"}, exitUsage, "ops show: 2 words, want ID"},
		"word for a list": {[]string{"list", "Stuck"}, exitUsage, "ops list: 1 words, want none"},
		"no source":       {[]string{"quarantine", "drop", "a", "-why", "x"}, exitUsage, "want SOURCE ID"},
		"unknown flag":    {[]string{"list", "-nonsense"}, exitUsage, "-nonsense"},
		"no reason":       {[]string{"retry", "t-1"}, exitUsage, "ops retry: -why is required"},
		"no operator":     {[]string{"giveup", "t-1", "-why", "x", "-by", " "}, exitUsage, "ops giveup: -by is required"},
		"long reason":     {[]string{"retry", "t-1", "-why", strings.Repeat("x", operate.MaxWhy+1)}, exitUsage, "-why must have up to 1000 characters"},
		"no URL":          {[]string{"list", "-url", "127.0.0.1:7071"}, exitUsage, `"127.0.0.1:7071" is not a URL`},
		"no beginning":    {[]string{"replay", "-partition", "0"}, exitUsage, "ops replay: -partition and -from are required"},
		"no shard":        {[]string{"shards", "close", "b", "-why", "x", "-url", closed.URL}, exitUsage, `"b" is no number of a shard`},
		"pin nowhere":     {[]string{"pin", "ann", "-why", "x", "-url", closed.URL}, exitUsage, `"" is no number of a shard`},
		"no weight":       {[]string{"shards", "weight", "2", "x", "-why", "x", "-url", closed.URL}, exitUsage, `"x" is no weight`},
		"none":            {[]string{"list", "-max", "0"}, exitUsage, "-max 0: use 1 or more"},
		"nobody serves":   {[]string{"list", "-url", closed.URL}, exitError, "nothing is running at " + closed.URL},
		"nobody serves it": {[]string{"retry", "t-1", "-why", "x", "-url", closed.URL}, exitError,
			"start the app with go run ./infra/local serve, or name another with -url URL"},
	} {
		t.Run(name, func(t *testing.T) {
			exit, _, errOut := opsRun(t, c.args...)
			if exit != c.exit || !strings.Contains(errOut, c.want) {
				t.Errorf("exit %d, want %d; stderr %q, want %q in it", exit, c.exit, errOut, c.want)
			}
		})
	}
}

func TestOpsHelp(t *testing.T) {
	for _, v := range opsVerbs() {
		args := append(strings.Fields(v.name), "-help")
		exit, out, _ := opsRun(t, args...)
		app := v.name != "tail" // which reads the hub
		if exit != exitOK || !strings.Contains(out, "usage: go run ./infra/local ops "+v.name) || strings.Contains(out, "-url") != app || strings.Contains(out, "-json") != app {
			t.Errorf("%s: exit %d, %s", v.name, exit, out)
		}
		if acts := app && v.name != "status" && v.name != "list" && v.name != "show" && v.name != "quarantine" && v.name != "quarantine show" && v.name != "partitions" && v.name != "replay" && v.name != "shards"; acts != strings.Contains(out, "-why") {
			t.Errorf("%s: %s", v.name, out)
		}
		if exit, out, _ := opsRun(t, "-help"); exit != exitOK || !strings.Contains(out, strings.TrimSpace(v.name+" "+v.words)+" ") {
			t.Errorf("%s is not in the help: %s", v.name, out)
		}
	}
}

// inProject makes an empty project the working folder, and returns where what is
// served there is told.
func inProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"functions", "handlers", filepath.Join(".build", "local")} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"go.mod", "host.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return filepath.Join(dir, ".build", "local", "endpoints.json")
}

func TestOpsFindsWhatIsServedHere(t *testing.T) {
	file := inProject(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"items":[]}`) }))
	defer server.Close()
	for _, c := range []struct {
		content string
		exit    int
		out     string
	}{
		{"", exitError, "nothing is running in this folder"},
		{`{"amqp":"127.0.0.1:1"}`, exitError, "nothing is running in this folder but emulators"},
		{`{`, exitError, "read endpoints.json"},
		{`{"http":"` + strings.TrimPrefix(server.URL, "http://") + `"}`, exitOK, "no transaction is Stuck\n"},
	} {
		if c.content != "" {
			if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		exit, out, errOut := opsRun(t, "list")
		if exit != c.exit || !strings.Contains(out+errOut, c.out) {
			t.Errorf("%q: exit %d, %q %q, want %d and %q", c.content, exit, out, errOut, c.exit, c.out)
		}
	}
	t.Chdir(t.TempDir())
	if exit, _, errOut := opsRun(t, "list"); exit != exitError || !strings.Contains(errOut, "-url URL") {
		t.Errorf("outside of a project: exit %d, %q", exit, errOut)
	}
}

// pages serves three transactions and three entries in pages of one, each page
// behind an empty one.
func pages(w http.ResponseWriter, r *http.Request) {
	n := len(r.URL.Query().Get("continuation"))
	item, next := "", ""
	if n%2 == 1 {
		item = fmt.Sprintf(`{"id":"x-%d","state":"Stuck","sequenceNumber":"1"}`, n/2)
	}
	if n < 5 {
		next = strings.Repeat("c", n+1)
	}
	fmt.Fprintf(w, `{"items":[%s],"continuation":%q}`, item, next)
}

func TestOpsListsAllPages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(pages))
	defer server.Close()
	for _, verb := range []string{"list", "quarantine"} {
		for max, c := range map[string]struct {
			lines int
			more  bool
		}{"1": {1, true}, "2": {2, true}, "3": {3, false}, "100": {3, false}} {
			exit, out, errOut := opsRun(t, verb, "-url", server.URL, "-max", max)
			if lines := strings.Count(out, "x-"); exit != exitOK || lines != c.lines || strings.Contains(out, "there are more") != c.more {
				t.Errorf("%s -max %s: exit %d, %s%s", verb, max, exit, out, errOut)
			}
		}
		_, out, _ := opsRun(t, verb, "-json", "-url", server.URL)
		for line := range strings.Lines(out) {
			var object struct{ ID string }
			if err := json.Unmarshal([]byte(line), &object); err != nil || !strings.HasPrefix(object.ID, "x-") {
				t.Errorf("%s: %q is not JSON: %v", verb, line, err)
			}
		}
	}
}

func TestOpsFlagsAndWordsInAnyOrder(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = fmt.Sprintf("%s %s %s", r.URL.Path, r.Header.Get("X-Functions-Key"), body)
		fmt.Fprint(w, `{"id":"t-1","state":"Compensating","entry":{"id":"q.1","state":"Redriven","sequenceNumber":"1"},"result":"sent"}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		args      []string
		want, out string
	}{
		{[]string{"retry", "t-1", "-why", "because", "-by", "ada"}, `/api/operations/transactions/t-1/retry k {"by":"ada","why":"because"}`, "transaction t-1 is Compensating; see"},
		{[]string{"retry", "-why", "because", "-by", "ada", "t-1", "-json"}, `/api/operations/transactions/t-1/retry k {"by":"ada","why":"because"}`, `{"id":"t-1"`},
		{[]string{"giveup", "-by", "ada", "t-1", "-why", "because"}, `/api/operations/transactions/t-1/giveup k {"by":"ada","note":"because"}`, "transaction t-1"},
		{[]string{"quarantine", "redrive", "q", "-by", "ada", "q.1", "-why", "because"}, `/api/operations/quarantine/q/q.1/redrive k {"by":"ada","why":"because"}`, "entry q.1 is Redriven: sent"},
		{[]string{"quarantine", "drop", "q", "q.1", "-by", "ada", "-why", "because", "-json"}, `/api/operations/quarantine/q/q.1/drop k {"by":"ada","why":"because"}`, `{"entry":{"id":"q.1"`},
	} {
		exit, out, errOut := opsRun(t, append(c.args, "-url", server.URL, "-key", "k")...)
		if exit != exitOK || asked != c.want || !strings.HasPrefix(out, c.out) {
			t.Errorf("%q: exit %d, asked %q, want %q; %s%s", c.args, exit, asked, c.want, out, errOut)
		}
	}
	// Without -by, the operating system says who acts.
	if exit, _, errOut := opsRun(t, "retry", "t-1", "-why", "because", "-url", server.URL); exit != exitOK || !strings.Contains(asked, fmt.Sprintf(`"by":%q`, userName())) {
		t.Errorf("exit %d, asked %q %s", exit, asked, errOut)
	}
}

func TestOpsTellsRefusals(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, *problem.New(problem.Conflict, "the transaction is Completed"))
	}))
	defer server.Close()
	exit, _, errOut := opsRun(t, "retry", "t-1", "-why", "x", "-url", server.URL)
	if exit != exitError || !strings.Contains(errOut, "refused: 409") || !strings.Contains(errOut, "the transaction is Completed") {
		t.Errorf("exit %d, %q", exit, errOut)
	}
}
