package trial

import "fmt"

// Rule is a promise about what is stored.
type Rule struct {
	Name    string // one word, no other rule's
	Promise string // for people
	// Check looks at everything that the rule is about.
	Check func(*Findings)
}

// Break makes one thing wrong in what is stored, so that a rule has to find it.
type Break struct {
	Rule string
	What string // of the violation that must be found
	// Do makes it wrong and returns the id of that violation; "" if there is no place
	// for it.
	Do func(s *Stored) (id string)
}

// Findings are what a rule has found so far.
type Findings struct {
	Checked    int // things that were looked at
	Violations []Violation
}

// Violation is one thing that is not as it should be.
type Violation struct {
	// ID is the TransactionID, or the id of the document if there is no
	// transaction to it.
	ID     string `json:"id"`
	What   string `json:"what"`   // a few words that can be counted
	Detail string `json:"detail"` // for people
	// Said is the format of Detail: together with What it names the place in the
	// rule that found it.
	Said string `json:"-"`
}

// Broken adds a violation.
func (f *Findings) Broken(id, what, format string, args ...any) {
	f.Violations = append(f.Violations, Violation{ID: id, What: what, Detail: fmt.Sprintf(format, args...), Said: format})
}
