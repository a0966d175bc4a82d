package account

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestContract(t *testing.T) {
	var script recordtest.Script
	store := &recordtest.Memory[Account]{Before: script.Before}
	s := New(store, time.Now)
	recordtest.Contract(t, s.Endpoints(), []recordtest.Call{
		{Name: "unknown", Method: "GET", Path: "/account/o", Status: 404, Answer: "not-found"},
		{Name: "create", Method: "PUT", Path: "/account/o", Body: `{"name":"Ann"}`, Status: 201,
			Answer: `{"id":"o","name":"Ann","status":"active"}`},
		{Name: "repeat", Method: "PUT", Path: "/account/o", Body: `{"id":"o","name":"Ann","status":"active"}`, Status: 200},
		{Name: "suspend", Method: "PUT", Path: "/account/o", Body: `{"name":"Ann","status":"suspended"}`, Status: 200},
		{Name: "get", Method: "GET", Path: "/account/o", Status: 200, Answer: `{"id":"o","name":"Ann","status":"suspended"}`},
		{Name: "another id", Method: "PUT", Path: "/account/o", Body: `{"id":"p"}`, Status: 400, Answer: "invalid"},
		{Name: "unknown status", Method: "PUT", Path: "/account/o", Body: `{"status":"closed"}`, Status: 400, Answer: "invalid"},
		{Name: "unknown field", Method: "PUT", Path: "/account/o", Body: `{"email":"x"}`, Status: 400, Answer: "invalid"},
		{Name: "long name", Method: "PUT", Path: "/account/o", Body: `{"name":"` + strings.Repeat("x", 201) + `"}`, Status: 400},
		{Name: "no JSON", Method: "PUT", Path: "/account/o", Body: `{`, Status: 400, Answer: "malformed"},
		{Name: "no body", Method: "PUT", Path: "/account/o", Status: 415},
		{Name: "too large", Method: "PUT", Path: "/account/o", Body: `{"name":"` + strings.Repeat("x", 65<<10) + `"}`, Status: 413},
		{Name: "bad id", Method: "GET", Path: "/account/a%20b", Status: 400, Answer: "invalid"},
	})
	if got := store.Writes(); got != 2 {
		t.Errorf("%d writes, want 2", got)
	}
	script.Next(recordtest.Read, recordtest.Fail) // who is suspended is not remembered
	recordtest.Contract(t, s.Endpoints(), []recordtest.Call{
		{Name: "storage down", Method: "GET", Path: "/account/o", Status: 503, Answer: "unavailable", RetryAfter: "2"},
	})
}

// looks returns a service with a clock, and how often it has read.
func looks(store *recordtest.Memory[Account], now *time.Time) (*Service, *recordtest.Script) {
	var script recordtest.Script
	store.Before = script.Before
	return New(store, func() time.Time { return *now }), &script
}

// Ensure an active account is read once in 30 seconds, and one who is unknown or
// suspended each time, whatever another process has made of it.
func TestOnlyActiveAccountsAreRemembered(t *testing.T) {
	store, now := &recordtest.Memory[Account]{}, time.Now()
	s, script := looks(store, &now)
	other := New(store, time.Now)
	put := func(status string) {
		t.Helper()
		if _, err := other.Put(t.Context(), Account{ID: "o", Status: status}); err != nil {
			t.Fatal(err)
		}
	}
	get := func(want string) {
		t.Helper()
		got, err := s.Get(t.Context(), "o")
		if got.Status != want || failure.Is(err, failure.NotFound) != (want == "") || err != nil && want != "" {
			t.Errorf("got %+v, %v; want %q", got, err, want)
		}
	}
	get("")
	put(Suspended)
	get(Suspended)
	put(Active)
	get(Active)
	put(Suspended)
	before := script.Seen(recordtest.Read)
	now = now.Add(30*time.Second - 1)
	get(Active)
	if got := script.Seen(recordtest.Read); got != before {
		t.Errorf("%d reads of what is remembered", got-before)
	}
	now = now.Add(1)
	get(Suspended)
}

// Ensure what this process changes shows at once, also if it was being read meanwhile.
func TestAChangeHereShowsAtOnce(t *testing.T) {
	store := &overtaken{Memory: &recordtest.Memory[Account]{}, change: func() {}}
	s := New(store, time.Now)
	put := func(status string) {
		if _, err := s.Put(t.Context(), Account{ID: "o", Status: status}); err != nil {
			t.Error(err)
		}
	}
	get := func(want string) {
		t.Helper()
		if got, err := s.Get(t.Context(), "o"); err != nil || got.Status != want {
			t.Errorf("got %+v, %v; want %s", got, err, want)
		}
	}
	put(Active)
	get(Active)
	put(Suspended)
	get(Suspended)
	put(Active)
	store.change = func() {
		store.change = func() {}
		put(Suspended)
	}
	get(Active) // it was, when it was read
	get(Suspended)
}

// overtaken is a store that is changed behind a read.
type overtaken struct {
	*recordtest.Memory[Account]
	change func()
}

func (o *overtaken) Read(ctx context.Context, id string) (Account, string, error) {
	account, etag, err := o.Memory.Read(ctx, id)
	o.change()
	return account, etag, err
}

// Ensure what is remembered has a bound.
func TestRememberedAccountsAreBounded(t *testing.T) {
	store, now := &recordtest.Memory[Account]{}, time.Now()
	s, _ := looks(store, &now)
	for i := range 3*maxKept/2 + 1 {
		id := fmt.Sprint(i)
		if _, err := store.Create(t.Context(), id, Account{ID: id, Status: Active}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		if len(s.active) > maxKept {
			t.Fatalf("%d are remembered", len(s.active))
		}
	}
}
