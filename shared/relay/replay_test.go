package relay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// ask has the service do what a body asks for.
func ask(t *testing.T, s *Service, body string) (Replayed, error) {
	t.Helper()
	a, err := ReadAgain([]byte(body))
	if err != nil {
		return Replayed{}, err
	}
	return s.Replay(t.Context(), a)
}

// again are the ids of the messages of a replay.
func again(from, to int) []string {
	out := numbers(from, to)
	for i := range out {
		out[i] += fmt.Sprint("/replay/", now.UnixMilli())
	}
	return out
}

func TestReplayHandsOverAgainUpToThePosition(t *testing.T) {
	to := func(n int64) *int64 { return &n }
	cases := []struct {
		name, body string
		want       Replayed
		messages   []string
	}{
		{"from a number", `{"partition":"3","from":"12"}`, Replayed{"3", 12, 17, 17, nil}, again(12, 17)},
		{"from a time", fmt.Sprintf(`{"partition":"3","from":%q}`, takenAt(14).Format("2006-01-02T15:04:05.999Z07:00")), Replayed{"3", 14, 17, 17, nil}, again(14, 17)},
		{"the oldest one", `{"partition":"3","from":"4"}`, Replayed{"3", 4, 17, 17, nil}, again(4, 17)},
		{"up to a number", `{"partition":"3","from":"12","to":13}`, Replayed{"3", 12, 13, 13, nil}, again(12, 13)},
		{"up to a number that was not handed over", `{"partition":"3","from":"16","to":19}`, Replayed{"3", 16, 17, 17, nil}, again(16, 17)},
		{"what the trigger still has to read", `{"partition":"3","from":"18"}`, Replayed{"3", 18, 17, 17, nil}, nil},
		{"the next one", `{"partition":"3","from":"21"}`, Replayed{"3", 21, 20, 17, nil}, nil},
		{"since the latest one", fmt.Sprintf(`{"partition":"3","from":%q}`, takenAt(21).Format("2006-01-02T15:04:05Z07:00")), Replayed{"3", 21, 20, 17, nil}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, q, saved, h := newGaps(t, 17, 4)
			h.partitions = []string{"0", "3"}
			before := saved.stored[id]
			got, err := ask(t, s, c.body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.messages, ids(q.taken)); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
			if saved.saves != 0 || saved.stored[id] != before {
				t.Errorf("the position moved: %+v", saved.stored[id])
			}
		})
	}
	// Many are handed over by several calls, which end where the first one said.
	s, q, saved, h := newGaps(t, 0, 0)
	h.holds(t, 0, 2*MaxReplay+500)
	saved.stored[id] = Checkpoint{ID: id, SequenceNumber: 2*MaxReplay + 99, HubCreatedAt: firstHub}
	var got []Replayed
	for body := `{"partition":"3","from":"100"}`; body != ""; {
		part, err := ask(t, s, body)
		if err != nil {
			t.Fatal(err)
		}
		got, body = append(got, part), ""
		if part.Next != nil {
			body = fmt.Sprintf(`{"partition":"3","from":"%d","to":%d}`, *part.Next, part.To)
		}
		saved.stored[id] = Checkpoint{ID: id, SequenceNumber: 2*MaxReplay + 400, HubCreatedAt: firstHub} // Relay goes on meanwhile
	}
	want := []Replayed{
		{"3", 100, MaxReplay + 99, 2*MaxReplay + 99, to(MaxReplay + 100)},
		{"3", MaxReplay + 100, 2*MaxReplay + 99, 2*MaxReplay + 99, nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(again(100, 2*MaxReplay+99), ids(q.taken)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestReplayRefusesWithTheReason(t *testing.T) {
	cases := map[string]struct{ body, want string }{
		"nothing":              {`{}`, "/partition is required, /from is required"},
		"no beginning":         {`{"partition":"3","from":"soon","to":-1,"why":"x"}`, "/why is not a known field, /to must be a sequence number from 0, /from must be a sequence number from 0, or a time as in RFC 3339, such as 2026-01-31T16:00:00Z"},
		"a negative number":    {`{"partition":"3","from":"-1"}`, "/from must be a sequence number from 0, or a time as in RFC 3339, such as 2026-01-31T16:00:00Z"},
		"no such partition":    {`{"partition":"4","from":"5"}`, "/partition must be a partition of the hub, which has 2: 0 to 3"},
		"a time to come":       {`{"partition":"3","from":"2026-05-04T09:00:01Z"}`, "/from is in the future"},
		"a number to come":     {`{"partition":"3","from":"22"}`, "/from is in the future: the latest event of the partition has sequence number 20"},
		"a number that's gone": {`{"partition":"3","from":"3"}`, "/from is gone: the hub has the partition from sequence number 4 on"},
		"a time that's gone":   {`{"partition":"3","from":"2026-05-04T08:00:00Z"}`, "/from is gone: the hub has the partition from sequence number 4 on"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s, q, _, h := newGaps(t, 17, 4)
			h.partitions, h.enqueued = []string{"0", "3"}, takenAt(4)
			_, err := ask(t, s, c.body)
			var p *problem.Problem
			if !errors.As(err, &p) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, f := range p.Errors {
				got = append(got, f.Pointer+" "+f.Detail)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ", ")); diff != "" || len(q.taken) > 0 {
				t.Errorf("%d messages (-want +got):\n%s", len(q.taken), diff)
			}
		})
	}
	// From before its first event, a hub that has lost none is read from its beginning.
	s, q, _, _ := newGaps(t, 17, 0)
	if got, err := ask(t, s, `{"partition":"3","from":"2026-05-04T08:00:00Z"}`); err != nil || got.First != 0 || len(q.taken) != 18 {
		t.Errorf("%+v with %d messages, %v", got, len(q.taken), err)
	}
	// What a deleted hub had was handed over there, not here.
	s, q, saved, h := newGaps(t, 17, 0)
	h.recreate(t, 0, 20)
	if got, err := ask(t, s, `{"partition":"3","from":"0"}`); err != nil || got.To != -1 || got.Next != nil || len(q.taken) != 0 || saved.saves != 0 {
		t.Errorf("%+v with %d messages, %v", got, len(q.taken), err)
	}
}

// A call that stops in between tells how far it has come; the next one tells why.
func TestReplayGoesOnWhereItStopped(t *testing.T) {
	s, q, _, h := newGaps(t, 17, 0)
	q.refuse = func(messages []engine.Queued) error {
		if messages[0].MessageID == again(6, 6)[0] {
			return errDown
		}
		return nil
	}
	got, err := ask(t, s, `{"partition":"3","from":"4"}`)
	if err != nil || got.Last != 5 || got.Next == nil || *got.Next != 6 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ask(t, s, `{"partition":"3","from":"6","to":17}`); !errors.Is(err, errDown) {
		t.Errorf("got %v", err)
	}
	q.refuse = nil
	h.without(9, 9)
	if got, err = ask(t, s, `{"partition":"3","from":"6","to":17}`); err != nil || got.Next == nil || *got.Next != 9 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ask(t, s, `{"partition":"3","from":"9","to":17}`); err == nil || !strings.Contains(err.Error(), "event 9 of partition 3 has expired meanwhile") {
		t.Errorf("got %v", err)
	}
	// What can't be read goes to quarantine again, which knows it.
	h.holds(t, 0, 20)
	h.events[9].Body = []byte("rubbish")
	k := s.c.Quarantine.(*keeper)
	if got, err = ask(t, s, `{"partition":"3","from":"8","to":10}`); err != nil || got.Last != 10 || len(k.kept) != 1 || k.kept[0].Source != quarantine.EventSource("requests", "3") {
		t.Errorf("%+v, %v, %+v", got, err, k.kept)
	}
}
