package operate

import (
	"context"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// The bounds of one update. Conflicts are with others, who get on; an answer
// that is lost twice is the operator's to repeat.
const (
	maxConflicts = 8
	maxLost      = 1
)

// update reads a document, changes it and writes it under its ETag, again and
// again while others change it meanwhile. change reports whether there is
// anything to write: it must recognize what an earlier try has written, since a
// write that failed may have taken effect. The result is the document as it
// was written or found.
func update[T any](
	ctx context.Context,
	read func(context.Context) (*T, string, error),
	change func(*T) (bool, error),
	replace func(ctx context.Context, doc *T, etag string) error,
) (*T, error) {
	for conflicts, lost := 0, 0; ; {
		doc, etag, err := read(ctx)
		if err != nil {
			return doc, err
		}
		changed, err := change(doc)
		if err != nil || !changed {
			return doc, err
		}
		err = replace(ctx, doc, etag)
		switch {
		case err == nil:
			return doc, nil
		case failure.Is(err, failure.Conflict):
			conflicts++
		case failure.Is(err, failure.Transient):
			lost++
		default:
			return doc, err
		}
		if lost > maxLost {
			return doc, err
		}
		if conflicts > maxConflicts { // no contradiction, only much going on
			return doc, failure.New(failure.Transient, "update", "", err)
		}
	}
}
