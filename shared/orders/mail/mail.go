// Package mail is the backend that tells customers that their order is on its
// way. An accepted mail is sent: no undo calls it back.
package mail

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// TooEarly puts a mail off until it is to be sent.
var TooEarly = problem.Type{ID: "too-early", Status: 429, Title: "The mail is not to be sent yet"}

// Ask is what a transaction asks for.
type Ask struct {
	To string    `json:"to"`
	At time.Time `json:"at,omitzero"` // not before
}

// Mail is one that was sent.
type Mail struct {
	Ask
	SentAt time.Time `json:"sentAt"`
}

// Service keeps the mails. It is safe for concurrent use.
type Service struct{ Keeper record.Keeper[Mail] }

// Backend returns the backend, by the name of its step.
func Backend(name string) business.Backend {
	return business.Backend{
		Name:       name,
		Functions:  []business.Function{{Name: "Mails", Route: "mails/{id}"}},
		Containers: []business.Container{record.Container("mails")},
		Open: func(env business.Env) ([][]business.Endpoint, error) {
			s := &Service{record.KeeperOf[Mail](env, "mails")}
			return [][]business.Endpoint{s.Endpoints()}, nil
		},
	}
}

// Put sends a mail, once: a later revision sends none.
func (s *Service) Put(ctx context.Context, id string, by record.By, ask Ask) (record.Record[Mail], record.Change, error) {
	if wait := ask.At.Sub(s.Keeper.Now()); wait > 0 {
		early := problem.New(TooEarly, "it is to be sent at %s", ask.At.Format(time.RFC3339))
		early.RetryAfter = wait
		return record.Record[Mail]{}, "", early
	}
	hash, err := record.Hash(ask)
	if err != nil {
		return record.Record[Mail]{}, "", err
	}
	return s.Keeper.Put(ctx, id, by, hash, func(live *Mail) Mail {
		if live != nil {
			return *live
		}
		return Mail{ask, s.Keeper.Now().UTC()}
	})
}

// Delete refuses to undo what was sent, and otherwise leaves the tombstone that
// keeps it from being sent.
func (s *Service) Delete(ctx context.Context, id string, by record.By) error {
	sent := false
	_, err := record.Update(ctx, s.Keeper.Store, id, func(rec *record.Record[Mail], _ bool) (bool, error) {
		rec.ID = id
		if sent = rec.TransactionID == by.TransactionID; sent {
			return false, nil
		}
		return rec.Delete(by, s.Keeper.Now(), cmp.Or(s.Keeper.Retention, record.DefaultRetention)), nil
	})
	if err == nil && sent {
		return problem.New(record.CannotUndo, "the mail was sent")
	}
	return err
}

// View is a mail as the contract shows it.
type View struct {
	ID string `json:"id"`
	Mail
}

func show(rec record.Record[Mail]) View { return View{rec.ID, rec.Content} }

// Endpoints is the contract: GET 200 or 404; PUT 201, 200 for a repeat, 429 too-early, 409 or 410 by
// the rules of package record; DELETE 204 before the mail was sent, and 409
// cannot-be-undone after.
func (s *Service) Endpoints() []business.Endpoint {
	return []business.Endpoint{
		{Method: http.MethodGet, Path: "mails/{id}", Handle: record.AnswerGet(s.Keeper.GetLive, show)},
		{Method: http.MethodPut, Path: "mails/{id}", Handle: record.AnswerPut(body.ask, s.Put, show)},
		{Method: http.MethodDelete, Path: "mails/{id}", Handle: record.AnswerDelete(s.Delete)},
	}
}

type body struct {
	To *string `json:"to"`
	At *string `json:"at"`
}

func (b body) ask() (Ask, error) {
	var faults problem.Faults
	ask := Ask{To: faults.Text("/to", b.To, 200)}
	if b.At != nil {
		ask.At = faults.Time("/at", b.At)
	}
	return ask, faults.Err()
}
