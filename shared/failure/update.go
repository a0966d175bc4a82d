package failure

import (
	"context"
	"errors"
)

// Tries is how often a document is changed against others who change it
// meanwhile.
const Tries = 8

// errContended is the cause of a change that others were quicker at, each time.
var errContended = errors.New("others keep changing it")

// Update is one change of one document under its ETag.
type Update[T any] struct {
	Op, ID string // for errors, such as "update transaction" and its id
	// Read returns the document and its ETag.
	Read func(context.Context) (*T, string, error)
	// Change changes the document and reports whether there is anything to write. It
	// may run several times, each time on the document as it is then, and must
	// recognize what an earlier write of its own has done: one that failed may have
	// taken effect.
	Change func(*T) (bool, error)
	// Write writes the document in place of the one with the ETag. Conflict if that is
	// no longer there.
	Write func(ctx context.Context, doc *T, etag string) error
	// Lost is how many writes whose answer is lost (Transient) are looked after.
	Lost int
}

// Do reads, changes and writes, all over again if another was quicker: nobody is
// kept from getting on, so it ends soon. It returns the document as it was written
// or found. An error of Read or Change is returned as it is; when others are quicker
// all the time it is Transient, since that is no contradiction.
func (u Update[T]) Do(ctx context.Context) (*T, error) {
	for tries, lost := 0, 0; ; {
		doc, etag, err := u.Read(ctx)
		if err != nil {
			return doc, err
		}
		changed, err := u.Change(doc)
		if err != nil || !changed {
			return doc, err
		}
		err = u.Write(ctx, doc, etag)
		switch {
		case err == nil:
			return doc, nil
		case Is(err, Conflict):
			tries++
		case Is(err, Transient) && lost < u.Lost:
			lost++
		default:
			return doc, err
		}
		if tries == Tries {
			return doc, New(Transient, u.Op, u.ID, errors.Join(errContended, err))
		}
	}
}
