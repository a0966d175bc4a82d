package invariant

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// maxStories is how many broken ids a report tells the story of.
const maxStories = 20

// Story is what is known of one broken id, for people.
type Story struct {
	ID    string   `json:"id"`
	Lines []string `json:"lines"`
}

// stories tells of the first broken ids: some of each invariant before more of
// any.
func (x *index) stories(invariants []Invariant) []Story {
	var ids []string
	broken := map[string][]string{}
	for round := 0; ; round++ {
		more := false
		for _, i := range invariants {
			if round >= len(i.Violations) {
				continue
			}
			more = true
			v := i.Violations[round]
			if broken[v.ID] == nil {
				ids = append(ids, v.ID)
			}
			broken[v.ID] = append(broken[v.ID], fmt.Sprintf("%s: %s: %s", i.Name, v.What, v.Detail))
		}
		if !more {
			break
		}
	}
	stories := []Story{}
	for _, id := range ids[:min(len(ids), maxStories)] {
		stories = append(stories, Story{ID: id, Lines: append(broken[id], x.story(id)...)})
	}
	return stories
}

// story tells the history of a transaction and of its effects, in short.
func (x *index) story(id string) []string {
	var lines []string
	add := func(format string, args ...any) {
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " ")) // some parts are empty, some have line breaks
	}
	if e := x.start(id); e != nil {
		add("answered 202 at %s for operation %s", day(e.AcceptedAt), e.OperationID)
	}
	if p := x.transactions[id]; p != nil {
		add("%s, revision %d, accepted %s, ended %s, wake %d, epoch %d %s", p.State, p.Revision, day(p.AcceptedAt.Time), day(p.EndedAt.Time), p.Wake, p.Lease.Epoch, p.Reason)
		for _, s := range p.Steps {
			add("step %s: %s", s.Name, stepStory(s))
		}
		for _, o := range p.Operations {
			add("operation %s: %s %s at %s %s", o.ID, o.Kind, o.State, stamp(o.EndedAt.Time), o.Reason)
		}
		for _, e := range p.History {
			add("%s %s → %s %s %s", stamp(e.At.Time), e.Transition, e.State, e.By, e.Reason)
		}
	}
	for _, o := range x.Outside {
		if o.TransactionID == id {
			add("operation %s: %s %s at %s %s, outside of it", o.OperationID, o.Operation, o.State, stamp(o.EndedAt.Time), o.Reason)
		}
	}
	for _, e := range x.effects {
		if e.concerns(id) {
			add("%v: %s", e, e.story(x.effectOf(e.step).own))
		}
	}
	for container, docs := range trial.Sorted(x.Others) {
		for _, doc := range docs {
			if bytes.Contains(doc, []byte(strconv.Quote(id))) {
				add("%s: %s", container, doc)
			}
		}
	}
	return lines
}

func stepStory(s workflow.StepProgress) string {
	text := fmt.Sprintf("%s, revision %d, %d attempts, effect %s", s.State, s.Revision, s.Attempts, s.Effect)
	if s.UndoAttempts > 0 {
		text += fmt.Sprintf(", %d undo attempts", s.UndoAttempts)
	}
	for _, e := range []*workflow.StepError{s.Error, s.UndoError} {
		if e != nil {
			text += fmt.Sprintf(", %d %s", e.Status, e.Message)
		}
	}
	return text
}

// concerns reports whether a transaction, or the record itself, has that id.
func (e *effect) concerns(id string) bool {
	if e.id == id || e.TransactionID == id || e.buried(id) {
		return true
	}
	for _, entry := range e.Journal {
		if entry.TransactionID == id {
			return true
		}
	}
	return false
}

// story tells of an effect. own tells whether its record has but one transaction.
func (e *effect) story(own bool) string {
	var parts []string
	if e.Live() {
		parts = append(parts, fmt.Sprintf("live for %s, revision %d", e.TransactionID, e.Revision))
	}
	for _, entry := range e.Journal {
		text := fmt.Sprintf("%d %s %s, revision %d", entry.Seq, stamp(entry.At), entry.Change, entry.Revision)
		if !own {
			text += " by " + entry.TransactionID
		}
		parts = append(parts, text)
	}
	for _, t := range e.Tombstones {
		parts = append(parts, stamp(t.At)+" tombstone of "+t.TransactionID)
	}
	return strings.Join(parts, "; ")
}

// day writes an instant with its day; "never" for none.
func day(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// stamp writes an instant for people.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
