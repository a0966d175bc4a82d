package facade

import (
	"cmp"
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
)

// Delete undoes what a transaction has here, and leaves its tombstone: first
// that, so that no new post begins, then what was posted is taken back. After an
// error the same DELETE is to be repeated: it goes on where this one stopped.
func (f *Facade[A, G]) Delete(ctx context.Context, id string, by record.By) error {
	if id != by.TransactionID {
		return nil // nothing of the transaction's can be there
	}
	rec, err := record.Update(ctx, f.Store, id, func(rec *Record[A, G], _ bool) (bool, error) {
		rec.ID = id
		live := rec.Live()
		if !rec.Delete(by, f.Now(), f.retention()) {
			return false, nil
		}
		if live {
			rec.Content.Open = append(rec.Content.Open, rec.Content.Current)
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return f.settle(ctx, rec)
}

// settle takes back what the record no longer stands for: everything once it is
// undone, and else what is of earlier revisions. A later one's intent is its own
// PUT's business.
func (f *Facade[A, G]) settle(ctx context.Context, rec Record[A, G]) error {
	for _, p := range rec.Content.Open {
		if rec.Live() && p.Revision > rec.Revision {
			continue
		}
		if err := f.takeBack(ctx, rec.ID, p); err != nil {
			return err
		}
		if err := f.forget(ctx, rec.ID, p.Revision); err != nil {
			return err
		}
	}
	return nil
}

// takeBack learns what a post made, if nobody knows yet, and revokes it.
func (f *Facade[A, G]) takeBack(ctx context.Context, transactionID string, p Post[A, G]) error {
	if p.Given == nil {
		given, err := f.post(ctx, transactionID, p)
		if refused(err) {
			return nil
		}
		if err != nil {
			return err
		}
		p.Given = &given
	}
	return f.Service.Revoke(ctx, p.key(transactionID), *p.Given)
}

// forget drops an open post of which nothing is left.
func (f *Facade[A, G]) forget(ctx context.Context, id string, revision int) error {
	_, err := record.Update(ctx, f.Store, id, func(rec *Record[A, G], _ bool) (bool, error) {
		if rec.Content.find(revision) == nil {
			return false, nil
		}
		rec.Content.Open = rec.Content.without(revision)
		rec.Prune(f.Now(), f.retention())
		return true, nil
	})
	return err
}

func (f *Facade[A, G]) retention() time.Duration { return cmp.Or(f.Retention, record.DefaultRetention) }
