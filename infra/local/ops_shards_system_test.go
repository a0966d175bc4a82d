package main

import (
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// Ensure that operators see all shards from the front: what is Stuck in any of them, with what
// can be done about it, and which one is away.
func TestOpsOfShards(t *testing.T) {
	s := serveForOps(t, 2)
	s.refuses.Store(true)
	s.ops(exitOK, "shards", "weight", "2", "0", "-why", "test")
	s.putTooHeavy("first")
	s.ops(exitOK, "shards", "weight", "2", "100", "-why", "test")
	s.ops(exitOK, "shards", "close", "1", "-why", "test")
	s.putTooHeavy("second")
	list := s.await([]string{"first ", "second "}, "list")
	if !regexp.MustCompile(`(?m)\ASHARD +ID .*\n1 +first +Stuck.*\n2 +second +Stuck.*\n\z`).MatchString(list) {
		t.Errorf("list\n%s", list)
	}
	if list := s.ops(exitOK, "list", "-shard", "2", "-json"); !strings.HasPrefix(list, `{"shard":2,"id":"second",`) || strings.Contains(list, "first") {
		t.Errorf("list of shard 2\n%s", list)
	}
	for _, id := range []string{"first", "second"} {
		if shown := s.ops(exitOK, "show", id); !strings.Contains(shown, "transaction "+id+" is Stuck (failed)") {
			t.Errorf("shown\n%s", shown)
		}
	}
	if out := s.ops(exitOK, "giveup", "second", "-why", "sent a courier"); !strings.Contains(out, "second is GivenUp") {
		t.Errorf("give up: %s", out)
	}
	for _, args := range [][]string{{"quarantine", "show", "q", "q.1"}, {"replay", "-partition", "0", "-from", "0"}} {
		if out := s.ops(exitUsage, args...); !strings.Contains(out, "say which one with -shard N") {
			t.Errorf("%q: %s", args, out)
		}
	}
	if out := s.ops(exitOK, "partitions"); !strings.Contains(out, "\n1      relay  0") || !strings.Contains(out, "\n2      relay  0") {
		t.Errorf("partitions\n%s", out)
	}
	shown := s.await([]string{"shard-2"}, "shards")
	if !regexp.MustCompile(`(?m)\ASHARD +NAME +STATE +WEIGHT +PINS +OPEN +STUCK +BACKLOG +ENDS/S .*\n1 +first +closing +100 +0 .*\n2 +shard-2 +open +100 +0 .*\nversion 4, read .* up to 10 s old`).MatchString(shown) {
		t.Errorf("shards\n%s", shown)
	}
	// What isn't there, or is another's, doesn't come into the map.
	for _, c := range []struct{ args, want string }{
		{"add third -hub nowhere -database fabrikam-2x", `409.*shard 3 \(third\) can't be used; its hub.*nowhere.*; its database.*fabrikam-2x`},
		{"add third -hub requests-3 -database nowhere -app " + s.url, `its app: ask ` + s.url + `: it says that it works in shard 1`},
		{"app 2 " + s.url, `its app: ask ` + s.url + `: it says that it works in shard 1`},
		{"add third -hub requests-2 -database x", `shards 2 and 3 have the same hub`},
	} {
		if out := s.ops(exitError, append(append([]string{"shards"}, strings.Fields(c.args)...), "-why", "test")...); !regexp.MustCompile(c.want).MatchString(out) {
			t.Errorf("shards %s: %s", c.args, out)
		}
	}
	// Its app goes.
	second := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(&url.URL{Scheme: "http", Host: s.system.Stamps()[0]})
	}})
	defer second.Close()
	s.ops(exitOK, "shards", "app", "2", second.URL, "-why", "test")
	s.ops(exitOK, "show", "second")
	second.Close()
	out := s.ops(exitError, "list")
	for _, want := range []string{"1      first", "shard 2 (shard-2) is missing from this list: nothing is running at " + second.URL} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if out := s.ops(exitError, "show", "second"); !strings.Contains(out, "nothing is running at "+second.URL) {
		t.Errorf("shown\n%s", out)
	}
}
