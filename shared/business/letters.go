package business

import (
	"encoding/json"
	"net/mail"
	"regexp"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Letters are a business's words to people.
type Letters struct {
	// Ask is the call that tells who asked to be told, and of what. A 404 says that
	// nobody did.
	Ask func(transactionID string) workflow.Call
	// Write reads its answer.
	Write func(answer json.RawMessage) (Letter, error)
}

// Letter is what there is to tell of a transaction.
type Letter struct {
	// Name is of which kind it is, in lower-case letters. Each person gets at most one
	// of a kind, one after the other.
	Name string
	// Due is when there is something to tell; the rest is empty before.
	Due           time.Time
	To            []string // addresses, in the order in which they were given; new ones come last
	Subject, Text string
}

// mailAddress is what needs no quotes and no extension of SMTP: the dot-atom of RFC 5322 at
// a name of ASCII.
var mailAddress = regexp.MustCompile(`^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}@[A-Za-z0-9.-]+$`)

// MailAddress reports whether a text is an address that a letter can be sent to.
func MailAddress(text string) bool {
	_, err := mail.ParseAddress(text)
	return err == nil && mailAddress.MatchString(text)
}
