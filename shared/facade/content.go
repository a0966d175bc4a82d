package facade

import (
	"slices"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
)

// Content is what is kept of a transaction: A is what is asked for, G what the
// service gave for it.
type Content[A, G any] struct {
	// Current is what the record shows. It was given.
	Current Post[A, G] `json:"current,omitzero"`
	// Open are the posts that may have made something which is not Current, and
	// which nobody has taken back yet: an intent, or what a change has replaced.
	Open []Post[A, G] `json:"open,omitempty"`
}

// Post is one request to the service.
type Post[A, G any] struct {
	// Revision is that of the PUT. The key is made of the transaction and of it.
	Revision int       `json:"revision"`
	Hash     string    `json:"hash"`
	At       time.Time `json:"at"` // before the first try
	Ask      A         `json:"ask"`
	Given    *G        `json:"given,omitempty"` // nil as long as no answer is known
}

// Record is the document of one transaction. Its id is the transaction's.
type Record[A, G any] = record.Record[Content[A, G]]

// key names a post to the service, for ever. An id holds no slash.
func (p Post[A, G]) key(transactionID string) string {
	return transactionID + "/" + strconv.Itoa(p.Revision)
}

// find returns the open post of a revision, nil if there is none.
func (c *Content[A, G]) find(revision int) *Post[A, G] {
	for i := range c.Open {
		if c.Open[i].Revision == revision {
			return &c.Open[i]
		}
	}
	return nil
}

// without returns the open posts but that of a revision, in a slice of its own.
func (c *Content[A, G]) without(revision int) []Post[A, G] {
	return slices.DeleteFunc(slices.Clone(c.Open), func(p Post[A, G]) bool { return p.Revision == revision })
}
