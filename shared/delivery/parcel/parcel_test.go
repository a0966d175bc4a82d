package parcel

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func newService(now *time.Time) *Service {
	return New(record.Keeper[Content]{Store: &recordtest.Memory[record.Record[Content]]{}, Now: func() time.Time { return *now }})
}

func TestContract(t *testing.T) {
	now := time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)
	const (
		path   = "/packages/p-1"
		small  = `{"ownerId":"o","size":"Small","weightKg":1.5,"tag":"x"}`
		larger = `{"ownerId":"o","size":"Large","weightKg":9}`
	)
	recordtest.Contract(t, newService(&now).Endpoints(), []recordtest.Call{
		{Name: "unknown", Method: "GET", Path: path, Status: 404, Answer: "not-found"},
		{Name: "create", Method: "PUT", Path: path, Transaction: "t", Body: small, Status: 201,
			Answer: `{"id":"p-1","ownerId":"o","size":"Small","weightKg":1.5,"tag":"x"}`},
		{Name: "repeat", Method: "PUT", Path: path, Transaction: "t", Revision: "1", Body: small, Status: 204, Unchanged: true},
		{Name: "other content", Method: "PUT", Path: path, Transaction: "t", Body: larger, Status: 409, Answer: "other-content"},
		{Name: "another transaction", Method: "PUT", Path: path, Transaction: "u", Body: small, Status: 409, Answer: "owned-by-another"},
		{Name: "change", Method: "PUT", Path: path, Transaction: "t", Revision: "2", Body: larger, Status: 200,
			Answer: `{"id":"p-1","size":"Large","weightKg":9}`},
		{Name: "stale", Method: "PUT", Path: path, Transaction: "t", Revision: "1", Body: small, Status: 409, Answer: "stale-revision"},
		{Name: "get", Method: "GET", Path: path, Status: 200, Answer: `{"id":"p-1","ownerId":"o","size":"Large"}`},
		{Name: "delete by another", Method: "DELETE", Path: path, Transaction: "u", Status: 204},
		{Name: "still there", Method: "GET", Path: path, Status: 200},
		{Name: "put behind the delete", Method: "PUT", Path: path, Transaction: "u", Body: small, Status: 410, Answer: "gone"},
		{Name: "delete", Method: "DELETE", Path: path, Transaction: "t", Status: 204},
		{Name: "delete again", Method: "DELETE", Path: path, Transaction: "t", Status: 204, Unchanged: true},
		{Name: "gone", Method: "GET", Path: path, Status: 404},
		{Name: "late put", Method: "PUT", Path: path, Transaction: "t", Revision: "3", Body: small, Status: 410, Answer: "gone"},
		{Name: "the next one's", Method: "PUT", Path: path, Transaction: "v", Body: small, Status: 201},
		{Name: "delete of what never was", Method: "DELETE", Path: "/packages/p-2", Transaction: "t", Status: 204},
		{Name: "put of it", Method: "PUT", Path: "/packages/p-2", Transaction: "t", Body: small, Status: 410},
		{Name: "no transaction", Method: "PUT", Path: path, Body: small, Status: 400, Answer: "invalid"},
		{Name: "delete, no transaction", Method: "DELETE", Path: path, Status: 400, Answer: "invalid"},
		{Name: "bad body", Method: "PUT", Path: path, Transaction: "t", Body: `{"size":"Tiny"}`, Status: 400, Answer: "invalid"},
		{Name: "no owner", Method: "GET", Path: "/packages", Status: 400, Answer: "invalid"},
		{Name: "list, first page empty", Method: "GET", Path: "/packages?ownerId=o", Status: 200, Answer: `{"items":[],"continuation":"0"}`},
		{Name: "list", Method: "GET", Path: "/packages?ownerId=o&continuation=0", Status: 200, Answer: `{"items":[{"id":"p-1"}]}`},
		{Name: "bad continuation", Method: "GET", Path: "/packages?ownerId=o&continuation=x", Status: 400},
		{Name: "summary", Method: "GET", Path: "/packages/summary/o?year=2026&month=1", Status: 200,
			Answer: `{"ownerId":"o","year":2026,"month":1,"count":1,"totalWeightKg":1.5}`},
		{Name: "summary, bad month", Method: "GET", Path: "/packages/summary/o?year=2026&month=13", Status: 400},
		{Name: "summary, no year", Method: "GET", Path: "/packages/summary/o?month=1", Status: 400},
	})
}

func TestSummaryAddsUpTheMonth(t *testing.T) {
	now := time.Date(2026, 1, 31, 23, 59, 59, 0, time.UTC)
	s := newService(&now)
	put := func(id, owner string, weight float64) {
		t.Helper()
		by := record.By{TransactionID: "t-" + id, Revision: 1}
		if _, _, err := s.Put(t.Context(), id, by, Content{OwnerID: owner, Size: "Small", WeightKg: weight}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c", "d"} {
		put(id, "o", 2)
	}
	put("e", "other", 100)
	if err := s.Delete(t.Context(), "b", record.By{TransactionID: "t-b"}); err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Second)
	put("f", "o", 50)
	for month, want := range map[time.Month]Summary{
		time.January:  {OwnerID: "o", Year: 2026, Month: 1, Count: 3, TotalWeightKg: 6},
		time.February: {OwnerID: "o", Year: 2026, Month: 2, Count: 1, TotalWeightKg: 50},
		time.March:    {OwnerID: "o", Year: 2026, Month: 3},
	} {
		if got, err := s.Summarize(t.Context(), "o", 2026, month); err != nil || got != want {
			t.Errorf("%v: %+v, %v", month, got, err)
		}
	}
}
