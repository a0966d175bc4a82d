package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Ensure that what lets an operator in comes from the environment, where other
// processes don't see it, and that a flag wins.
func TestOpsSecretsFromTheEnvironment(t *testing.T) {
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Get("X-Functions-Key") + "/" + r.Header.Get("Authorization")
		fmt.Fprint(w, `{"items":[]}`)
	}))
	defer server.Close()
	for _, c := range []struct {
		key, token string
		args       []string
		want       string
	}{
		{"", "", nil, "/"},
		{"k1", "", nil, "k1/"},
		{"k1", "", []string{"-key", "k2"}, "k2/"},
		{"", "t1", nil, "/Bearer t1"},
		{"", "t1", []string{"-audience", "api://x"}, "/Bearer t1"},
		{"k1", "t1", nil, "k1/Bearer t1"},
	} {
		t.Setenv(opsKeyVariable, c.key)
		t.Setenv(opsTokenVariable, c.token)
		if exit, _, errOut := opsRun(t, append([]string{"list", "-url", server.URL}, c.args...)...); exit != exitOK || got != c.want {
			t.Errorf("%+v: exit %d, sent %q, %s", c, exit, got, errOut)
		}
	}
	t.Setenv(opsTokenVariable, "t1")
	if exit, _, errOut := opsRun(t, "list", "-url", "http://app.example"); exit != exitUsage || !strings.Contains(errOut, "use https") || strings.Contains(errOut, "t1") {
		t.Errorf("exit %d, %s", exit, errOut)
	}
}

func TestOpsHelpTellsHowToBeLetIn(t *testing.T) {
	_, out, _ := opsRun(t, "-help")
	_, verb, _ := opsRun(t, "list", "-help")
	for _, text := range []string{out, verb} {
		for _, word := range []string{opsTokenVariable, opsKeyVariable, "-audience"} {
			if !strings.Contains(text, word) {
				t.Errorf("%s is not in the help:\n%s", word, text)
			}
		}
	}
}
