// Package mail is the backend that tells customers that their order is on its
// way. An accepted mail is sent: no undo calls it back.
package mail

import (
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

// Backend returns the backend, by the name of its step.
func Backend(name string) business.Backend {
	return business.Backend{
		Name:       name,
		Functions:  []business.Function{{Name: "Mails", Route: "mails/{id}"}},
		Containers: []business.Container{record.Container("mails")},
		Open: func(env business.Env) ([][]business.Endpoint, error) {
			return [][]business.Endpoint{Endpoints(record.KeeperOf[Mail](env, "mails"))}, nil
		},
	}
}

// Endpoints is the contract: GET 200 or 404; PUT 201, 200 for a repeat, 429
// too-early, 409 or 410 by the rules of package record; DELETE 204 before the mail
// was sent, and 409 cannot-be-undone after.
func Endpoints(k record.Keeper[Mail]) []business.Endpoint {
	k.Done = func(Mail) bool { return true }
	check := func(b body) (Ask, error) {
		ask, err := b.ask()
		if wait := ask.At.Sub(k.Now()); err == nil && wait > 0 {
			early := problem.New(TooEarly, "it is to be sent at %s", ask.At.Format(time.RFC3339))
			early.RetryAfter, err = wait, early
		}
		return ask, err
	}
	return record.Endpoints("mails/{id}", &k, check, func(ask Ask, sent *Mail) Mail {
		if sent != nil { // a later revision sends none
			return *sent
		}
		return Mail{ask, k.Now().UTC()}
	})
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
