package main

import (
	"net/http"
	"strings"
	"testing"
)

// Ensure that a shard is closed step by step: what is left is said, nothing is lost that a front
// sends meanwhile, and what is there can be looked at after.
func TestOpsCloseAShard(t *testing.T) {
	s := serveForOps(t, 2)
	hub := []string{"-hub", s.system.Endpoints().Admin, "-why", "it is replaced"}
	closing := func(exit int, n string) string { return s.ops(exit, append([]string{"shards", "close", n}, hub...)...) }
	s.ops(exitOK, "shards", "weight", "1", "0", "-why", "test")
	s.refuses.Store(true)
	s.putTooHeavy("stuck") // in shard 2
	s.put("order-1", 1)
	s.ops(exitOK, "shards", "weight", "1", "100", "-why", "test")
	s.await([]string{"stuck "}, "list", "-shard", "2")
	// Bad input.
	for want, args := range map[string][]string{
		"there is no shard 7":                       {"shards", "close", "7"},
		"is no number of a shard":                   {"shards", "close", "x"},
		"say where the hub of the shard is managed": {"shards", "open", "2"},
	} {
		args = append(args, "-why", "test")
		if args[1] == "open" {
			s.ops(exitOK, "shards", "close", "2", "-why", "test")
		}
		_, out, errOut := opsRun(t, append(args, "-url", s.url)...)
		if !strings.Contains(out+errOut, want) {
			t.Errorf("%q: no %q in %s%s", args, want, out, errOut)
		}
	}
	if out := s.ops(exitError, "pin", "contoso", "-to", "2", "-why", "test"); !strings.Contains(out, "shard 2 is closing: pin to an open one") {
		t.Errorf("a pin to a closing one: %s", out)
	}
	if out := s.ops(exitError, "shards", "close", "1", "-why", "test"); !strings.Contains(out, "shard 1 is the last open one") {
		t.Errorf("the last open one: %s", out)
	}
	// What is left is said until an operator has decided.
	if out := s.await([]string{"1 transactions are Stuck: retry them or give them up"}, append([]string{"shards", "close", "2"}, hub...)...); !strings.Contains(out, "shard 2 is closing, and this is left in it:") {
		t.Errorf("left: %s", out)
	}
	s.ops(exitOK, "shards", "open", "2", "-hub", s.system.Endpoints().Admin, "-why", "not yet")
	s.ops(exitOK, "shards", "weight", "1", "0", "-why", "test")
	s.put("order-2", 1)
	s.ops(exitOK, "shards", "weight", "1", "100", "-why", "test")
	closing(exitOK, "2")
	s.ops(exitOK, "giveup", "stuck", "-why", "by hand")
	out := s.await([]string{"shard 2 is closed"}, append([]string{"shards", "close", "2"}, hub...)...)
	if !strings.Contains(out, "shard 2 is closed") {
		t.Errorf("closed: %s", out)
	}
	if out := closing(exitOK, "2"); !strings.Contains(out, "shard 2 is closed already") {
		t.Errorf("again: %s", out)
	}
	if out := s.ops(exitError, append([]string{"shards", "open", "2"}, hub...)...); !strings.Contains(out, "shard 2 is closed for good") {
		t.Errorf("open: %s", out)
	}
	if out := s.ops(exitOK, "shards"); !strings.Contains(out, "closed, can be removed from 2") {
		t.Errorf("shards: %s", out)
	}
	for _, id := range []string{"stuck", "order-1", "order-2"} {
		resp, err := http.Get(s.url + "/api/deliveryrequests/" + id)
		if err != nil || resp.StatusCode != http.StatusOK || resp.Body.Close() != nil {
			t.Errorf("%s: %v, %v", id, resp, err)
		}
	}
	s.put("order-1", 1) // the repeat of what ran there
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, s.url+"/api/deliveryrequests/order-2", nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.DefaultClient.Do(req); err != nil || resp.StatusCode != http.StatusConflict || resp.Body.Close() != nil {
		t.Errorf("a cancel: %v, %v", resp, err)
	}
}
