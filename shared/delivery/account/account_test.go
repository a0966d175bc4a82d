package account

import (
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestContract(t *testing.T) {
	var script recordtest.Script
	store := &recordtest.Memory[Account]{Before: script.Before}
	s := New(store)
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
	script.Next(recordtest.Read, recordtest.Fail)
	recordtest.Contract(t, s.Endpoints(), []recordtest.Call{
		{Name: "storage down", Method: "GET", Path: "/account/o", Status: 503, Answer: "unavailable", RetryAfter: "2"},
	})
}
