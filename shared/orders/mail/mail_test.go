package mail

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/record/recordtest"
)

func TestContract(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	k := record.Keeper[Mail]{Store: &recordtest.Memory[record.Record[Mail]]{}, Now: func() time.Time { return now }}
	sent := `{"to":"ann@example.com","sentAt":"2026-11-22T12:00:00Z"}`
	recordtest.Contract(t, Endpoints(k), []recordtest.Call{
		{Name: "too early", Method: "PUT", Path: "/mails/t", Transaction: "t", Body: `{"to":"ann@example.com","at":"2026-11-22T12:00:09Z"}`,
			Status: 429, Answer: "too-early", RetryAfter: "9"},
		{Name: "send", Method: "PUT", Path: "/mails/t", Transaction: "t", Body: `{"to":"ann@example.com"}`, Status: 201, Answer: sent},
		{Name: "repeat", Method: "PUT", Path: "/mails/t", Transaction: "t", Body: `{"to":"ann@example.com"}`, Status: 200, Answer: sent, Unchanged: true},
		{Name: "later revision", Method: "PUT", Path: "/mails/t", Transaction: "t", Revision: "2", Body: `{"to":"ann@example.com"}`, Status: 200, Answer: sent},
		{Name: "undo", Method: "DELETE", Path: "/mails/t", Transaction: "t", Status: 409, Answer: "cannot-be-undone"},
		{Name: "still there", Method: "GET", Path: "/mails/t", Status: 200, Answer: sent},
		{Name: "undo before", Method: "DELETE", Path: "/mails/u", Transaction: "u", Status: 204},
		{Name: "late", Method: "PUT", Path: "/mails/u", Transaction: "u", Body: `{"to":"bob@example.com"}`, Status: 410, Answer: "gone"},
	})
}
