// Package deliveries is the backend of the deliveries: what a customer sees of
// a package on its way. The package's position follows from the drone's
// schedule and the clock; nothing has to report it.
//
// Reading order: content.go (what is kept), stage.go (where it is), service.go
// (the rules), http.go and track.go (the contract).
package deliveries

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// The problems of this backend, besides those of package record.
var (
	NotConfirmable = problem.Type{ID: "not-confirmable", Status: 409, Title: "The delivery cannot be confirmed this way"}
	Arrived        = problem.Type{ID: "arrived", Status: 409, Title: "The package has arrived"}
	TooMany        = problem.Type{ID: "too-many", Status: 409, Title: "The limit is reached"}
)

// The most confirmations and wishes for a notice that one delivery keeps, and the
// most bytes that its confirmations have, as they are stored. There is room for
// one of any kind.
const (
	MaxConfirmations     = 10
	MaxConfirmationBytes = 128 << 10
	MaxNotices           = 10
)

// Service keeps the deliveries. It is safe for concurrent use.
//
// Delete undoes a transaction's delivery, also after the time of its pickup. It
// is the drone that can't be undone from then on, and only its backend knows: a
// workflow undoes the drone first, and goes no further if that is refused. Once
// the drone was undone in time its schedule means nothing any more, and the
// delivery must go, however late this call comes.
type Service struct{ record.Keeper[Content] }

// New returns the service on a keeper.
func New(k record.Keeper[Content]) *Service {
	k.Account = func(c Content) string { return c.OwnerID }
	k.Needed = func(c Content, _ time.Time) time.Time { return c.ArriveAt }
	return &Service{k}
}

// Put creates or changes a transaction's delivery, under the rules of package
// record. A change keeps the confirmations and wishes for a notice.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Content], record.Change, error) {
	return record.Put(ctx, &s.Keeper, id, by, ask, func(live *Content) Content {
		content := Content{Ask: ask}
		if live != nil {
			content.Confirmations, content.Notices = live.Confirmations, live.Notices
		}
		return content
	})
}

// Track returns where a delivery is, also one that was cancelled. NotFound if
// there never was one.
func (s *Service) Track(ctx context.Context, id string) (Tracking, error) {
	rec, err := s.ever(ctx, id)
	if err != nil {
		return Tracking{}, err
	}
	return track(&rec, s.Now()), nil
}

// ever returns a delivery, also one that was cancelled. NotFound if there never was one.
func (s *Service) ever(ctx context.Context, id string) (record.Record[Content], error) {
	rec, err := s.Get(ctx, id)
	if err == nil && rec.Since().IsZero() { // a tombstone of something that never was
		err = failure.New(failure.NotFound, "read delivery", id, nil)
	}
	return rec, err
}

// Confirm keeps the receiver's confirmation. It is refused before the arrival
// and if it is not of the kind that the request asked for. The same
// confirmation again changes nothing.
func (s *Service) Confirm(ctx context.Context, id string, c Confirmation) error {
	return s.append(ctx, id, func(content *Content, now time.Time) (bool, error) {
		switch asked := content.ConfirmationRequired; {
		case asked == value.NoConfirmation:
			return false, problem.New(NotConfirmable, "the delivery asks for no confirmation")
		case asked != c.ConfirmationType:
			return false, problem.New(NotConfirmable, "the delivery asks for %s", asked)
		}
		if now.Before(content.ArriveAt) {
			return false, problem.New(NotConfirmable, "the package has not arrived")
		}
		for _, other := range content.Confirmations {
			if other.sameAs(c) {
				return false, nil
			}
		}
		if len(content.Confirmations) >= MaxConfirmations {
			return false, problem.New(TooMany, "a delivery keeps up to %d confirmations", MaxConfirmations)
		}
		c.At = now.UTC()
		all := append(content.Confirmations, c)
		stored, err := json.Marshal(all)
		if err != nil {
			return false, fmt.Errorf("encode confirmations: %w", err)
		}
		if len(stored) > MaxConfirmationBytes {
			return false, problem.New(TooMany, "a delivery keeps up to %d bytes of confirmations", MaxConfirmationBytes)
		}
		content.Confirmations = all
		return true, nil
	})
}

// Notify keeps a wish to be told of the arrival. It is refused after it: nobody would
// be told any more. The same wish again changes nothing.
func (s *Service) Notify(ctx context.Context, id string, n Notice) error {
	return s.append(ctx, id, func(content *Content, now time.Time) (bool, error) {
		if !now.Before(content.ArriveAt) {
			return false, problem.New(Arrived, "it arrived at %s", content.ArriveAt.Format(time.RFC3339))
		}
		for _, other := range content.Notices {
			if other == n {
				return false, nil
			}
		}
		if len(content.Notices) >= MaxNotices {
			return false, problem.New(TooMany, "a delivery keeps up to %d wishes for a notice", MaxNotices)
		}
		content.Notices = append(content.Notices, n)
		return true, nil
	})
}

// append changes what others than the workflow may add to a live delivery.
func (s *Service) append(ctx context.Context, id string, change func(*Content, time.Time) (bool, error)) error {
	_, err := record.Update(ctx, s.Store, id, func(rec *record.Record[Content], exists bool) (bool, error) {
		if !exists || !rec.Live() {
			return false, failure.New(failure.NotFound, "read delivery", id, nil)
		}
		return change(&rec.Content, s.Now())
	})
	return err
}
