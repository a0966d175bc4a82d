package facade

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// Service is the service that isn't ours. Implementations are safe for
// concurrent use and bound the time of each call. A *problem.Problem with a 4xx
// is the service's own refusal, for good, which made nothing: it is told to the
// workflow as it is. Any other error leaves open what the call has done.
type Service[A, G any] interface {
	// Post asks for something under a key. A repeat under the key gives what the
	// first one gave, or its refusal, also after a Revoke, and makes nothing.
	Post(ctx context.Context, key string, ask A) (G, error)
	// Revoke takes back what a Post under the key gave. A repeat changes nothing.
	Revoke(ctx context.Context, key string, given G) error
}

// KeyExpired refuses to repeat a post whose key the service may have forgotten:
// a repeat could make it twice, and could not find what the first one made.
var KeyExpired = problem.Type{ID: "key-expired", Status: 409, Title: "The other service may have forgotten the request"}

// Facade stands before a service. It is safe for concurrent use.
type Facade[A, G any] struct {
	Store   record.Store[Record[A, G]]
	Service Service[A, G]
	Now     func() time.Time
	// Retention is how long what was undone is remembered; 0 means
	// record.DefaultRetention.
	Retention time.Duration
	// Needed is how long after its PUT a content may still be changed or undone; 0
	// is for ever.
	Needed time.Duration
	// KeyLife is how long the service keeps a key, counted from its first use.
	KeyLife time.Duration
}

// Get returns a live record. NotFound if there is none.
func (f *Facade[A, G]) Get(ctx context.Context, id string) (Record[A, G], error) {
	k := record.Keeper[Content[A, G]]{Store: f.Store}
	return k.GetLive(ctx, id)
}

// Put has the service give what a transaction asks for. The change is "" for a
// repeat. The error is a *problem.Problem if the rules of package record or the
// service refuse it; after any other error the same PUT is to be repeated.
func (f *Facade[A, G]) Put(ctx context.Context, id string, by record.By, ask A) (Record[A, G], record.Change, error) {
	var none Record[A, G]
	if id != by.TransactionID {
		return none, "", problem.New(problem.Invalid, "the id in the path must be that of the transaction, %s", by.TransactionID)
	}
	hash, err := record.Hash(ask)
	if err != nil {
		return none, "", err
	}
	post := Post[A, G]{Revision: by.Revision, Hash: hash, Ask: ask}
	rec, change, err := f.intend(ctx, by, &post)
	if err != nil {
		return none, "", err
	}
	if !post.At.IsZero() {
		given, err := f.post(ctx, by.TransactionID, post)
		if refused(err) { // told once the intent is gone: nobody may come again after it
			return none, "", cmp.Or(f.forget(ctx, id, by.Revision), err)
		}
		if err != nil {
			return none, "", err
		}
		post.Given = &given
		if rec, change, err = f.confirm(ctx, by, post); err != nil {
			return none, "", err
		}
	}
	return rec, change, f.settle(ctx, rec)
}

// intend saves that the post will be made, and since when it may have been: the
// zero time if none is needed, because it was confirmed before, or a new revision
// asks for what is live.
func (f *Facade[A, G]) intend(ctx context.Context, by record.By, post *Post[A, G]) (Record[A, G], record.Change, error) {
	var change record.Change
	update := record.Update[Record[A, G]]
	if by.Revision == 1 {
		update = record.UpdateNew[Record[A, G]]
	}
	rec, err := update(ctx, f.Store, by.TransactionID, func(rec *Record[A, G], _ bool) (bool, error) {
		rec.ID = by.TransactionID
		var err error
		if change, err = rec.Admit(by, post.Hash); err != nil || change == "" {
			return false, err
		}
		if rec.Live() && rec.Hash == post.Hash {
			f.put(rec, by, change, post.Hash, rec.Content)
			return true, nil
		}
		if open := rec.Content.find(by.Revision); open != nil {
			if open.Hash != post.Hash {
				return false, problem.New(record.OtherContent, "revision %d was asked for with other content", by.Revision)
			}
			post.At = open.At
			return false, nil
		}
		post.At = f.Now().UTC()
		rec.Content.Open = append(rec.Content.Open, *post)
		rec.Prune(f.Now(), f.retention())
		return true, nil
	})
	return rec, change, err
}

// confirm makes the record show what the service gave. The rules count once
// more: an undo, or a later revision, that came meanwhile has taken it back, or
// will.
func (f *Facade[A, G]) confirm(ctx context.Context, by record.By, post Post[A, G]) (Record[A, G], record.Change, error) {
	var change record.Change
	rec, err := record.Update(ctx, f.Store, by.TransactionID, func(rec *Record[A, G], _ bool) (bool, error) {
		var err error
		if change, err = rec.Admit(by, post.Hash); err != nil || change == "" {
			return false, err
		}
		content := Content[A, G]{Current: post, Open: rec.Content.without(by.Revision)}
		if rec.Live() {
			content.Open = append(content.Open, rec.Content.Current)
		}
		f.put(rec, by, change, post.Hash, content)
		return true, nil
	})
	return rec, change, err
}

func (f *Facade[A, G]) put(rec *Record[A, G], by record.By, change record.Change, hash string, content Content[A, G]) {
	if f.Needed > 0 {
		rec.Needed = f.Now().Add(f.Needed)
	}
	rec.Put(by, change, hash, "", content, f.Now(), f.retention())
}

// post makes a post, or repeats it.
func (f *Facade[A, G]) post(ctx context.Context, transactionID string, p Post[A, G]) (G, error) {
	if since := f.Now().Sub(p.At); since >= f.KeyLife {
		var none G
		return none, problem.New(KeyExpired, "the request %s was first made at %s, and its key is kept for %s: see with the other service what became of it",
			p.key(transactionID), p.At.Format(time.RFC3339), f.KeyLife)
	}
	return f.Service.Post(ctx, p.key(transactionID), p.Ask)
}

// refused reports whether the service has refused a post, which made nothing.
func refused(err error) bool {
	var p *problem.Problem
	return errors.As(err, &p) && p.Type != KeyExpired.ID && p.Status >= 400 && p.Status <= 499
}
