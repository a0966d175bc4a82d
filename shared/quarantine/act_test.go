package quarantine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

func act(n int) quarantine.Act {
	return quarantine.Act{At: noon.Add(time.Duration(n) * time.Second), Act: quarantine.ActRedrive, By: "ada", Why: fmt.Sprint("try ", n)}
}

func TestActsAreRecordedOnce(t *testing.T) {
	e := quarantine.Entry{State: quarantine.Kept}
	if !e.Begin(act(1)) || e.Begin(act(1)) {
		t.Error("the second record of an act is new, or the first is not")
	}
	if e.State != quarantine.Kept || len(e.Acts) != 1 || e.Acts[0].Result != "" {
		t.Errorf("begun: %+v", e)
	}
	if !e.End(act(1), "sent", quarantine.Redriven) || e.End(act(1), "sent", quarantine.Redriven) {
		t.Error("the second end of an act is new, or the first is not")
	}
	want := act(1)
	want.Result = "sent"
	if diff := cmp.Diff([]quarantine.Act{want}, e.Acts); diff != "" || e.State != quarantine.Redriven {
		t.Errorf("state %s, acts (-want +got):\n%s", e.State, diff)
	}
}

// Ensure that an entry can be copied: an act on the copy leaves the other as it
// is.
func TestActsAreNotShared(t *testing.T) {
	var e quarantine.Entry
	e.Begin(act(1))
	other := e
	other.End(act(1), "sent", quarantine.Redriven)
	other.Begin(act(2))
	if e.Acts[0].Result != "" || len(e.Acts) != 1 {
		t.Errorf("acts %+v", e.Acts)
	}
}

func TestOldestActsGo(t *testing.T) {
	var e quarantine.Entry
	for n := range quarantine.MaxActs + 2 {
		e.Begin(act(n))
	}
	if len(e.Acts) != quarantine.MaxActs || e.Acts[0].Why != "try 0" || e.Acts[1].Why != "try 3" {
		t.Errorf("%d acts, from %q and %q", len(e.Acts), e.Acts[0].Why, e.Acts[1].Why)
	}
	// One that was crowded out meanwhile is recorded all the same.
	if !e.End(act(1), "sent", quarantine.Redriven) || e.Last(quarantine.ActRedrive).Result != "sent" {
		t.Errorf("last %+v", e.Last(quarantine.ActRedrive))
	}
}

func TestLast(t *testing.T) {
	var e quarantine.Entry
	if e.Last(quarantine.ActDrop) != nil {
		t.Error("an entry without acts has a last one")
	}
	e.Begin(act(1))
	e.Begin(act(2))
	if last := e.Last(quarantine.ActRedrive); last == nil || last.Why != "try 2" || e.Last(quarantine.ActDrop) != nil {
		t.Errorf("last %+v", last)
	}
}

func TestValidEntryID(t *testing.T) {
	for _, c := range []struct {
		source, id string
		want       bool
	}{
		{"hub.0", "hub.0.7", true}, {"transactions.deadletter", "transactions.deadletter.9223372036854775807", true}, {"q", "q.-1", true},
		{"q", "q.7.0123456789ab", true}, {"hub.0", "hub.0.7.aaaaaaaaaaaa", true}, {"q", "q.7.", false}, {"q", "q.7.0123456789a", false},
		{"q", "q.7.0123456789AB", false}, {"q", "q.7.0123456789ab.1", false}, {"q", "q.07.0123456789ab", false}, {"q", "q.0123456789ab", false},
		{"q", "q", false}, {"q", "q.", false}, {"q", "q.x", false}, {"q", "p.1", false}, {"q", "q.01", false}, {"q", "q.+1", false},
		{"", ".1", false}, {"a b", "a b.1", false}, {"a/b", "a/b.1", false}, {"q", "q.99999999999999999999", false},
		{strings.Repeat("q", 201), strings.Repeat("q", 201) + ".1", false},
	} {
		if got := quarantine.ValidEntryID(c.source, c.id); got != c.want {
			t.Errorf("%q in %q: %v", c.id, c.source, got)
		}
	}
}
