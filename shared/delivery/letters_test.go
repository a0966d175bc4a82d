package delivery

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
)

// Ensure there is a letter for each end, to those who gave a mail address, and that a
// package's name makes no line.
func TestLetters(t *testing.T) {
	arrival := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	wishes := deliveries.Wishes{
		PackageID: "p-1\r\n\r\nBcc: eve@example.com", ArriveAt: arrival,
		Items: []deliveries.Notice{{EmailAddress: "a@example.com"}, {SMS: "1"}, {EmailAddress: "b@example.com", SMS: "2"}},
	}
	for cancelled, want := range map[bool]struct {
		name, subject, line string
		due                 time.Time
	}{
		false: {"arrived", "Package p-1    Bcc: eve@example.com has arrived", "Package p-1    Bcc: eve@example.com arrived on 1 March 2026, 12:00 UTC.", arrival.Add(letterDelay)},
		true:  {"cancelled", "Package p-1    Bcc: eve@example.com will not be delivered", "The delivery of package p-1    Bcc: eve@example.com was cancelled.", time.Time{}},
	} {
		wishes.Cancelled = cancelled
		answer, err := json.Marshal(wishes)
		if err != nil {
			t.Fatal(err)
		}
		l, err := writeLetter(answer)
		if err != nil || l.Name != want.name || l.Subject != want.subject || !l.Due.Equal(want.due) || !slices.Equal(l.To, []string{"a@example.com", "b@example.com"}) {
			t.Errorf("cancelled %t: %+v, %v", cancelled, l, err)
		}
		if lines := strings.Split(l.Text, "\n"); lines[0] != want.line || len(lines) != 4 {
			t.Errorf("cancelled %t: text %q", cancelled, lines)
		}
	}
	if _, err := writeLetter(json.RawMessage(`[]`)); err == nil {
		t.Error("an answer of another form was read")
	}
}
