package record

import (
	"cmp"
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Update reads a document, lets change change it, and writes it back under its
// ETag; all over again, a bounded number of times, if another was quicker. If
// there is no document yet, change gets a zero one and exists is false. It
// writes nothing if change reports false or an error, which Update returns as
// it is. Any other error is transient and leaves open whether the write took
// effect; so change must find out, on a repeat, that it has been made already.
func Update[T any](ctx context.Context, store Store[T], id string, change func(doc *T, exists bool) (bool, error)) (T, error) {
	return update(ctx, store, id, false, change)
}

// UpdateNew is Update of a document that is most likely not there: it is read only
// if its creation is refused. change must write a zero document.
func UpdateNew[T any](ctx context.Context, store Store[T], id string, change func(doc *T, exists bool) (bool, error)) (T, error) {
	return update(ctx, store, id, true, change)
}

func update[T any](ctx context.Context, store Store[T], id string, absent bool, change func(doc *T, exists bool) (bool, error)) (T, error) {
	exists := false
	doc, err := failure.Update[T]{
		Op: "update", ID: id,
		Read: func(ctx context.Context) (*T, string, error) {
			if absent {
				absent = false
				return new(T), "", nil
			}
			doc, etag, err := store.Read(ctx, id)
			if exists = err == nil; !exists && failure.Is(err, failure.NotFound) {
				return new(T), "", nil
			}
			return &doc, etag, err
		},
		Change: func(doc *T) (bool, error) { return change(doc, exists) },
		Write: func(ctx context.Context, doc *T, etag string) (err error) {
			if exists {
				_, err = store.Replace(ctx, id, *doc, etag)
			} else {
				_, err = store.Create(ctx, id, *doc)
			}
			if exists && failure.Is(err, failure.NotFound) { // it was deleted meanwhile
				return failure.New(failure.Conflict, "update", id, err)
			}
			if err == nil {
				noteWritten(ctx)
			}
			return err
		},
	}.Do(ctx)
	return *doc, err
}

// Keeper applies the rules to the records of one backend. It is safe for
// concurrent use.
type Keeper[T any] struct {
	Store     Store[Record[T]]
	Now       func() time.Time
	Retention time.Duration // 0 means DefaultRetention
	// Account tells whose a content is; nil if the business has no accounts.
	Account func(T) string
	// Needed tells until when a content that is put now may still be changed or
	// undone; nil, or zero, if nobody knows: then it stays.
	Needed func(content T, now time.Time) time.Time
	// Done tells whether the world has done what a content says, so that its DELETE is
	// refused with CannotUndo; nil if the world never does.
	Done func(T) bool
}

// Get returns the record, also one that is no longer live. NotFound if there
// never was one.
func (k *Keeper[T]) Get(ctx context.Context, id string) (Record[T], error) {
	rec, _, err := k.Store.Read(ctx, id)
	return rec, err
}

// GetLive returns the record. NotFound if nothing is live there.
func (k *Keeper[T]) GetLive(ctx context.Context, id string) (Record[T], error) {
	rec, err := k.Get(ctx, id)
	if err == nil && !rec.Live() {
		return rec, failure.New(failure.NotFound, "read", id, nil)
	}
	return rec, err
}

// Put takes in what a transaction asks for. build makes the content from the
// live one, which is nil if there is none. The change is "" for a repeat. The
// error is a *problem.Problem if the rules refuse the PUT.
func (k *Keeper[T]) Put(ctx context.Context, id string, by By, hash string, build func(live *T) T) (Record[T], Change, error) {
	var change Change
	update := Update[Record[T]]
	if by.Revision == 1 {
		update = UpdateNew[Record[T]]
	}
	rec, err := update(ctx, k.Store, id, func(rec *Record[T], _ bool) (bool, error) {
		rec.ID = id
		var err error
		if change, err = rec.Admit(by, hash); err != nil || change == "" {
			return false, err
		}
		if buried, err := k.buriedBeside(ctx, rec, by, change); err != nil || buried {
			return false, cmp.Or(err, gone(by))
		}
		var live *T
		if rec.Live() {
			live = &rec.Content
		}
		content := build(live)
		if k.Needed != nil {
			rec.Needed = k.Needed(content, k.Now())
		}
		rec.Put(by, change, hash, k.account(content), content, k.Now(), k.retention())
		return true, nil
	})
	return rec, change, err
}

// Put is k.Put of what is asked for, by whose hash a repeat is recognized.
func Put[A, T any](ctx context.Context, k *Keeper[T], id string, by By, ask A, build func(live *T) T) (Record[T], Change, error) {
	hash, err := Hash(ask)
	if err != nil {
		return Record[T]{}, "", err
	}
	return k.Put(ctx, id, by, hash, build)
}

// Delete undoes what a transaction has here, if anything, and leaves its
// tombstone. The error is a *problem.Problem if what the transaction has is Done.
func (k *Keeper[T]) Delete(ctx context.Context, id string, by By) error {
	_, err := Update(ctx, k.Store, id, func(rec *Record[T], _ bool) (bool, error) {
		rec.ID = id
		if k.Done != nil && rec.TransactionID == by.TransactionID && k.Done(rec.Content) {
			return false, problem.New(CannotUndo, "%s has happened", id)
		}
		if !rec.Delete(by, k.Now(), k.retention()) {
			return false, nil
		}
		return true, k.makeRoom(ctx, rec)
	})
	return err
}

// maxMoved bounds how many tombstones one DELETE moves, in time less than that
// of a call. It is more than one for documents of before there was a bound.
const maxMoved = 8

// makeRoom moves the oldest tombstones for which a record has no room into
// documents of their own. They are there before the record is written without
// them, under its ETag: so at any moment a late PUT finds its tombstone in the
// one or in the other, or is refused by the ETag. What a process leaves that dies
// in between is there twice, until its time is up.
func (k *Keeper[T]) makeRoom(ctx context.Context, rec *Record[T]) error {
	over := min(len(rec.Tombstones)-MaxTombstones, maxMoved)
	if over <= 0 {
		return nil
	}
	for _, stone := range rec.Tombstones[:over] {
		id := TombstoneID(rec.ID, stone.TransactionID)
		beside := Record[T]{ID: id, Tombstones: []Tombstone{stone}, TTL: seconds(k.retention())}
		if _, err := k.Store.Create(ctx, id, beside); err != nil && !failure.Is(err, failure.Conflict) {
			return err
		}
	}
	rec.Tombstones = rec.Tombstones[over:]
	rec.Beside = k.Now().Add(k.retention()).UTC()
	return nil
}

// buriedBeside reports whether a transaction that is about to create a content
// has a tombstone beside the record. What is live has none: only a record that
// tombstones were moved from costs a read.
func (k *Keeper[T]) buriedBeside(ctx context.Context, rec *Record[T], by By, change Change) (bool, error) {
	if change != Created || !k.Now().Before(rec.Beside) {
		return false, nil
	}
	_, _, err := k.Store.Read(ctx, TombstoneID(rec.ID, by.TransactionID))
	if failure.Is(err, failure.NotFound) {
		return false, nil
	}
	return err == nil, err
}

// PageOf returns a page of an account's live records, in no order, and the
// continuation of the next page ("" after the last). A page may be empty and
// still have a continuation.
func (k *Keeper[T]) PageOf(ctx context.Context, account, continuation string) ([]Record[T], string, error) {
	return k.Store.Page(ctx, AccountField, account, continuation)
}

func (k *Keeper[T]) retention() time.Duration { return cmp.Or(k.Retention, DefaultRetention) }

// For returns a Keeper.Needed for contents that tell no time of their own: each is
// needed for a time after its last PUT; 0 is for ever.
func For[T any](ahead time.Duration) func(T, time.Time) time.Time {
	if ahead == 0 {
		return nil
	}
	return func(_ T, now time.Time) time.Time { return now.Add(ahead) }
}

func (k *Keeper[T]) account(content T) string {
	if k.Account == nil {
		return ""
	}
	return k.Account(content)
}
