package operate

import (
	"context"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Entries returns a page of the quarantine, without the bodies, in the manner
// of quarantine.Store.
func (s *Service) Entries(ctx context.Context, filter quarantine.Filter, continuation string) ([]quarantine.Entry, string, error) {
	filter.WithoutBodies = true
	page, next, err := s.c.Quarantine.Page(ctx, filter, continuation)
	if err != nil {
		return nil, "", fmt.Errorf("list the quarantine: %w", err)
	}
	return page, next, nil
}

// Entry returns an entry of the quarantine. NotFound if there is none.
func (s *Service) Entry(ctx context.Context, source, id string) (quarantine.Entry, error) {
	e, _, err := s.readEntry(ctx, source, id)
	if err != nil {
		return quarantine.Entry{}, err
	}
	return *e, nil
}

// EntryActed is what has become of an entry by an act.
type EntryActed struct {
	// Entry is without its body and its properties.
	Entry quarantine.Entry `json:"entry"`
	// Result is what came of the act, for people.
	Result string `json:"result"`
	// Repeated is set when the entry was redriven before, or dropped by the same
	// operator and for the same reason: nothing was done.
	Repeated bool `json:"repeated"`
}

const dropped = "it needs no action"

// Drop records that nothing is to be done about an entry, which stays readable
// until it expires. One that was redriven is refused.
func (s *Service) Drop(ctx context.Context, source, id string, a Actor) (EntryActed, error) {
	act, repeated := s.entryAct(quarantine.ActDrop, a), false
	e, err := s.updateEntry(ctx, source, id, func(e *quarantine.Entry) (bool, error) {
		switch e.State {
		case quarantine.Dropped:
			last := e.Last(quarantine.ActDrop)
			if last == nil || last.By != a.Name() || last.Why != a.Why {
				return false, &RefusedError{ID: id, State: string(e.State), Reason: "it was dropped already"}
			}
			repeated = !last.At.Equal(act.At)
			return false, nil
		case quarantine.Redriven:
			return false, &RefusedError{ID: id, State: string(e.State), Reason: "it was redriven, which cannot be undone"}
		}
		return e.End(act, dropped, quarantine.Dropped), nil
	})
	if err != nil {
		return EntryActed{}, fmt.Errorf("drop quarantine entry %s: %w", id, err)
	}
	s.logEntry(ctx, e, act)
	return entryActed(e, dropped, repeated), nil
}

func (s *Service) entryAct(kind quarantine.ActKind, a Actor) quarantine.Act {
	return quarantine.Act{At: s.now(), Act: kind, By: a.Name(), Why: a.Why}
}

func entryActed(e *quarantine.Entry, result string, repeated bool) EntryActed {
	acted := EntryActed{Entry: *e, Result: result, Repeated: repeated}
	acted.Entry.Body, acted.Entry.Encoding, acted.Entry.Properties = "", "", nil
	return acted
}

// readEntry reads an entry. What has not the form of an id is not asked for.
func (s *Service) readEntry(ctx context.Context, source, id string) (*quarantine.Entry, string, error) {
	if !quarantine.ValidEntryID(source, id) {
		return nil, "", failure.New(failure.NotFound, "read quarantine entry", "", nil)
	}
	e, etag, err := s.c.Quarantine.Read(ctx, source, id)
	if err != nil {
		return nil, "", fmt.Errorf("read quarantine entry %s: %w", id, err)
	}
	return &e, etag, nil
}

func (s *Service) updateEntry(ctx context.Context, source, id string, change func(*quarantine.Entry) (bool, error)) (*quarantine.Entry, error) {
	return failure.Update[quarantine.Entry]{
		Op: "update quarantine entry", ID: id, Change: change, Lost: 1,
		Read: func(ctx context.Context) (*quarantine.Entry, string, error) { return s.readEntry(ctx, source, id) },
		Write: func(ctx context.Context, e *quarantine.Entry, etag string) error {
			return s.c.Quarantine.Replace(ctx, *e, etag)
		},
	}.Do(ctx)
}

func (s *Service) logEntry(ctx context.Context, e *quarantine.Entry, a quarantine.Act) {
	s.c.Logger.InfoContext(ctx, "operator acted", "entry", e.ID, telemetry.KeyTransaction, e.TransactionID,
		"event", a.Act, telemetry.KeyState, e.State, "by", a.By)
}
