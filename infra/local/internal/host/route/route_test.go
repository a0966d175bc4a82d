package route

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func parse(t *testing.T, text string) Template {
	t.Helper()
	tmpl, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func TestMatch(t *testing.T) {
	type params = map[string]string
	for _, tc := range []struct {
		template, path string
		want           params
		ok             bool
	}{
		{"", "", nil, true},
		{"", "x", nil, false},
		{"live", "LIVE", nil, true},
		{"live", "live/", nil, true},
		{"live", "live/x", nil, false},
		{"a/{id}", "a/7", params{"id": "7"}, true},
		{"a/{id}", "a", nil, false},
		{"a/{id}", "a//", nil, false},
		{"a/{id}", "a/b%2Fc", params{"id": "b/c"}, true},
		{"a/{id}", "a/b%zz", nil, false},
		{"a/{id?}", "a", nil, true},
		{"a/{id?}", "a/7", params{"id": "7"}, true},
		{"a/{id?}", "a/7/8", nil, false},
		{"a/{*rest}", "a", params{"rest": ""}, true},
		{"a/{*rest}", "a/b/c", params{"rest": "b/c"}, true},
		{"{*path}", "x/y", params{"path": "x/y"}, true},
		{"{*path}", "x//y", nil, false},
		{"a/{*rest}", "a//y", nil, false},
		{"{**path}", "x/y", params{"path": "x/y"}, true},
		{"a/{id:int}", "a/7", params{"id": "7"}, true},
		{"a/{id:int}", "a/x", nil, false},
		{"a/{id:guid}", "a/00000000-0000-0000-0000-000000000001", params{"id": "00000000-0000-0000-0000-000000000001"}, true},
		{"a/{id}/operations/{operationId}", "a/7/operations/8", params{"id": "7", "operationId": "8"}, true},
	} {
		got, ok := parse(t, tc.template).Match(tc.path)
		if ok != tc.ok || (ok && !cmp.Equal(got, tc.want)) {
			t.Errorf("%q on %q: %v, %v; want %v, %v", tc.template, tc.path, got, ok, tc.want, tc.ok)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"/a", "~/a", "a//b", "{*x}/b", "{x?}/b", "{x}/{X}", "v{x}", "{a}.{b}", "{x=1}", "{x:regex}", "{*x?}", "{", "a?b", "{}"} {
		if _, err := Parse(text); err == nil {
			t.Errorf("Parse(%q): want an error", text)
		}
	}
}

func table(t *testing.T) *Table[string] {
	t.Helper()
	var tab Table[string]
	for _, r := range []struct {
		template, value string
		methods         []string
	}{
		{"{*path}", "all", nil},
		{"deliveryrequests/{id}", "progress", []string{"get"}},
		{"deliveryrequests/{id}", "ingest", []string{"PUT", "patch", "delete"}},
		{"deliveryrequests", "ingest", []string{"post"}},
		{"deliveryrequests/count", "count", []string{"get"}},
		{"deliveryrequests/{id:int}", "number", []string{"get"}},
	} {
		if err := tab.Add(parse(t, r.template), r.methods, r.value); err != nil {
			t.Fatal(err)
		}
	}
	return &tab
}

func TestLookup(t *testing.T) {
	tab := table(t)
	for _, tc := range []struct{ method, path, want string }{
		{"GET", "deliveryrequests/x", "progress"},
		{"PUT", "deliveryrequests/x", "ingest"},
		{"DELETE", "deliveryrequests/x", "ingest"},
		{"POST", "deliveryrequests", "ingest"},
		{"GET", "deliveryrequests/count", "count"},
		{"GET", "deliveryrequests/7", "number"},
		{"GET", "deliveryrequests", "all"},
		{"GET", "", "all"},
		{"HEAD", "deliveryrequests/x", "all"},
	} {
		got, _, ok := tab.Lookup(tc.method, tc.path)
		if !ok || got != tc.want {
			t.Errorf("%s %s: %q, %v; want %q", tc.method, tc.path, got, ok, tc.want)
		}
	}
}

func TestLookupOfAnotherMethodIsNotFound(t *testing.T) {
	var tab Table[int]
	if err := tab.Add(parse(t, "a"), []string{"get"}, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := tab.Lookup("POST", "a"); ok {
		t.Error("POST found a route of GET")
	}
}

func TestAddRefusesTheSameRouteTwice(t *testing.T) {
	tab := table(t)
	if err := tab.Add(parse(t, "DeliveryRequests/{other}"), []string{"get"}, "x"); err == nil {
		t.Error("want an error for a second GET deliveryrequests/{}")
	}
	if err := tab.Add(parse(t, "deliveryrequests/{other}"), []string{"head"}, "x"); err != nil {
		t.Errorf("another method: %v", err)
	}
	if err := tab.Add(parse(t, "deliveryrequests/{other}"), nil, "x"); err == nil {
		t.Error("want an error for every method")
	}
}

func FuzzMatch(f *testing.F) {
	f.Add("a/{id}/{*rest}", "a/7/8/9")
	f.Add("{id?}", "")
	f.Fuzz(func(t *testing.T, template, path string) {
		tmpl, err := Parse(template)
		if err != nil {
			return
		}
		params, ok := tmpl.Match(path)
		if ok && len(params) > len(tmpl.segments) {
			t.Fatalf("%q on %q: %d parameters from %d segments", template, path, len(params), len(tmpl.segments))
		}
	})
}
