package operate

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
)

// The largest lengths, in characters.
const (
	MaxBy  = 128
	MaxWhy = 1000
)

// Actor is who acts, and why. By and Why are required: ReadWhy and ReadNote see to it.
type Actor struct {
	By  string // up to MaxBy characters: the name that the operator gives
	Why string // up to MaxWhy characters
	// Principal is the id of the operator that a token has proved, "" if there
	// was none.
	Principal string
}

// Name is how the operator stands in the record: whatever name one gives, the
// proved id stands behind it.
func (a Actor) Name() string {
	if a.Principal == "" {
		return a.By
	}
	return a.By + " (" + a.Principal + ")"
}

// ReadWhy returns who acts, and why, as a body says it: {by, why}. The error is a
// *problem.Problem.
func ReadWhy(body []byte) (Actor, error) {
	var b struct {
		By  *string `json:"by"`
		Why *string `json:"why"`
	}
	faults, err := problem.DecodeAll(body, &b)
	if err != nil {
		return Actor{}, err
	}
	return actorOf(faults, b.By, "/why", b.Why)
}

// ReadNote is ReadWhy for {by, note}.
func ReadNote(body []byte) (Actor, error) {
	var b struct {
		By   *string `json:"by"`
		Note *string `json:"note"`
	}
	faults, err := problem.DecodeAll(body, &b)
	if err != nil {
		return Actor{}, err
	}
	return actorOf(faults, b.By, "/note", b.Note)
}

func actorOf(faults *problem.Faults, by *string, pointer string, why *string) (Actor, error) {
	said := func(pointer string, text *string, limit int) string {
		if text == nil {
			text = new(string)
		}
		if err := CheckText(*text, limit); err != nil {
			faults.Add(pointer, "%v", err)
		}
		return *text
	}
	a := Actor{By: said("/by", by, MaxBy), Why: said(pointer, why, MaxWhy)}
	return a, faults.Err()
}

// CheckText returns what is wrong with a text that says who or why: it must have
// something to read in it, not more than limit characters, and no control
// characters but line breaks and tabs.
func CheckText(text string, limit int) error {
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' }
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is required")
	case utf8.RuneCountInString(text) > limit:
		return fmt.Errorf("must have up to %d characters", limit)
	case !utf8.ValidString(text) || strings.ContainsFunc(text, control):
		return errors.New("must not have control characters")
	}
	return nil
}

// RefusedError is returned for what an operator can't do as things stand. It is
// a conflict.
type RefusedError struct {
	ID     string // of the transaction or the entry
	State  string // its state
	Reason string // for people
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s is %s: %s", e.ID, e.State, e.Reason) }

// Unwrap makes e a conflict.
func (e *RefusedError) Unwrap() error { return failure.New(failure.Conflict, "operate", e.ID, nil) }
