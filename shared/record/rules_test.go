package record

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

var start = time.Date(2026, 1, 31, 16, 0, 0, 0, time.UTC)

func by(transactionID string, revision int) By {
	return By{TransactionID: transactionID, OperationID: "op-" + transactionID, Revision: revision}
}

// record with what calls have made of it, one second apart.
func made(t *testing.T, calls ...call) Record[string] {
	t.Helper()
	r := Record[string]{ID: "r"}
	for i, c := range calls {
		now := start.Add(time.Duration(i) * time.Second)
		if c.del {
			r.Delete(c.by, now, time.Hour)
			continue
		}
		change, err := r.Admit(c.by, c.content)
		if err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		if change != "" {
			r.Put(c.by, change, c.content, "owner", c.content, now, time.Hour)
		}
	}
	return r
}

type call struct {
	by      By
	content string // is its own hash
	del     bool
}

func put(transactionID string, revision int, content string) call {
	return call{by: by(transactionID, revision), content: content}
}

func del(transactionID string) call { return call{by: by(transactionID, 1), del: true} }

func typeOf(err error) string {
	var p *problem.Problem
	if errors.As(err, &p) {
		return p.Type
	}
	return ""
}

func TestAdmit(t *testing.T) {
	tests := []struct {
		name   string
		before []call
		put    call
		want   Change
		refuse string // problem type
	}{
		{"nothing there", nil, put("a", 1, "x"), Created, ""},
		{"repeat", []call{put("a", 1, "x")}, put("a", 1, "x"), "", ""},
		{"same revision, other content", []call{put("a", 1, "x")}, put("a", 1, "y"), "", "other-content"},
		{"higher revision", []call{put("a", 1, "x")}, put("a", 2, "y"), Changed, ""},
		{"higher revision, same content", []call{put("a", 1, "x")}, put("a", 2, "x"), Changed, ""},
		{"lower revision", []call{put("a", 2, "x")}, put("a", 1, "x"), "", "stale-revision"},
		{"another's", []call{put("a", 1, "x")}, put("b", 1, "x"), "", "owned-by-another"},
		{"another's, higher revision", []call{put("a", 1, "x")}, put("b", 2, "x"), "", "owned-by-another"},
		{"another has undone it", []call{put("a", 1, "x"), del("a")}, put("b", 1, "x"), Created, ""},
		{"undone", []call{put("a", 1, "x"), del("a")}, put("a", 1, "x"), "", "gone"},
		{"undone, higher revision", []call{put("a", 1, "x"), del("a")}, put("a", 2, "x"), "", "gone"},
		{"undone before it came", []call{del("a")}, put("a", 1, "x"), "", "gone"},
		{"undone, then another's", []call{put("a", 1, "x"), del("a"), put("b", 1, "x")}, put("a", 1, "x"), "", "gone"},
		{"another undid what it never had", []call{put("a", 1, "x"), del("b")}, put("a", 1, "x"), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := made(t, tt.before...)
			before := made(t, tt.before...)
			change, err := r.Admit(tt.put.by, tt.put.content)
			if change != tt.want || typeOf(err) != tt.refuse {
				t.Errorf("got %q, %v; want %q, %q", change, err, tt.want, tt.refuse)
			}
			if diff := cmp.Diff(before, r); diff != "" {
				t.Errorf("Admit changed the record:\n%s", diff)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	tests := []struct {
		name    string
		before  []call
		want    bool
		live    string
		entries []Change
	}{
		{"nothing there", nil, true, "", nil},
		{"own", []call{put("a", 3, "x")}, true, "", []Change{Created, Deleted}},
		{"again", []call{put("a", 1, "x"), del("a")}, false, "", []Change{Created, Deleted}},
		{"another's", []call{put("b", 1, "x")}, true, "b", []Change{Created}},
		{"another's, again", []call{put("b", 1, "x"), del("a")}, false, "b", []Change{Created}},
		{"own, undone, now another's", []call{put("a", 1, "x"), del("a"), put("b", 1, "y")}, false, "b",
			[]Change{Created, Deleted, Created}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := made(t, tt.before...)
			if got := r.Delete(by("a", 1), start.Add(time.Minute), time.Hour); got != tt.want {
				t.Errorf("wrote %v, want %v", got, tt.want)
			}
			if r.TransactionID != tt.live {
				t.Errorf("live owner %q, want %q", r.TransactionID, tt.live)
			}
			if _, buried := r.Buried("a"); !buried {
				t.Error("no tombstone")
			}
			if diff := cmp.Diff(tt.entries, changes(r.Journal)); diff != "" {
				t.Error(diff)
			}
			if (r.TTL == 0) != r.Live() {
				t.Errorf("TTL %d, live %v", r.TTL, r.Live())
			}
		})
	}
}

func changes(journal []JournalEntry) []Change {
	var out []Change
	for _, e := range journal {
		out = append(out, e.Change)
	}
	return out
}

func TestJournalTellsWhatHappened(t *testing.T) {
	r := made(t, put("a", 1, "x"), put("a", 1, "x"), put("a", 3, "y"), del("a"), del("a"))
	want := []JournalEntry{
		{1, Created, "a", "op-a", 1, "x", start},
		{2, Changed, "a", "op-a", 3, "y", start.Add(2 * time.Second)},
		{3, Deleted, "a", "op-a", 3, "y", start.Add(3 * time.Second)},
	}
	if diff := cmp.Diff(want, r.Journal); diff != "" {
		t.Error(diff)
	}
	if r.Content != "y" || !r.Since().Equal(start) {
		t.Errorf("content %q since %v", r.Content, r.Since())
	}
}

func TestPruneForgetsAfterTheRetention(t *testing.T) {
	r := made(t, put("a", 1, "x"), del("a"), del("b"), put("c", 1, "z"), put("c", 2, "y"))
	r.Delete(by("d", 1), start.Add(time.Hour+2*time.Second), time.Hour)
	if _, buried := r.Buried("a"); buried {
		t.Error("the tombstone of a is an hour and a second old")
	}
	if _, buried := r.Buried("d"); !buried {
		t.Error("the tombstone of d is new")
	}
	if got, want := len(r.Tombstones), 1; got != want {
		t.Errorf("%d tombstones, want %d", got, want)
	}
	var seqs []int
	for _, e := range r.Journal {
		seqs = append(seqs, e.Seq)
	}
	if diff := cmp.Diff([]int{3, 4}, seqs); diff != "" { // those of the live one
		t.Error(diff)
	}
	r.Delete(by("c", 2), start.Add(5*time.Hour), time.Hour)
	if diff := cmp.Diff([]Change{Deleted}, changes(r.Journal)); diff != "" {
		t.Error(diff)
	}
	if r.Journal[0].Seq != 5 || r.TTL != 3600 {
		t.Errorf("seq %d, TTL %d", r.Journal[0].Seq, r.TTL)
	}
}
