package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// The reasons for which a message can't be taken. Test with errors.Is.
var (
	// ErrUnreadable is returned for a message that no version of this code will
	// ever read: it goes to the quarantine. The error's text says why.
	ErrUnreadable = errors.New("unreadable message")
	// ErrNewerSchema is returned for a message that a newer version of this
	// code wrote: it is retried, until that version runs here.
	ErrNewerSchema = errors.New("message of a newer schema")
	// ErrOtherShard is returned for a message of a transaction that is elsewhere: it
	// goes to the quarantine.
	ErrOtherShard = errors.New("message of another shard")
)

// Encode writes the envelope, of the current schema if it names none. It
// refuses what Decode would not read.
func (e Envelope) Encode() ([]byte, error) {
	if e.Schema == 0 {
		e.Schema = EnvelopeSchema
	}
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("encode message: %w", err)
	}
	b := bytes.NewBuffer(make([]byte, 0, room+len(e.Body)))
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false) // it would make a body of the largest size larger
	if err := enc.Encode(e); err != nil {
		return nil, fmt.Errorf("encode message of transaction %s: %w", e.TransactionID, err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// room is what a message takes beside its body, in bytes, where its caller's id is
// no longer than usual.
const room = 512

// Decode reads an envelope. Fields that it does not know are ignored, so that
// a field can be added without a new schema. The error is ErrUnreadable or
// ErrNewerSchema.
func Decode(body []byte) (Envelope, error) {
	var e Envelope
	if err := json.Unmarshal(body, &e); err != nil {
		// Nothing but the schema of a newer one need make sense.
		var version struct {
			Schema int `json:"schema"`
		}
		if json.Unmarshal(body, &version) != nil || version.Schema <= EnvelopeSchema {
			return Envelope{}, fmt.Errorf("%w: malformed: %w", ErrUnreadable, err)
		}
		e.Schema = version.Schema
	}
	if e.Schema > EnvelopeSchema {
		return Envelope{}, fmt.Errorf("%w: %d, known is %d", ErrNewerSchema, e.Schema, EnvelopeSchema)
	}
	if e.Schema == 1 { // of when there was one business
		e.Schema = EnvelopeSchema
		if e.Operation == "deliver" {
			e.Operation = "start"
		}
	}
	if err := e.check(); err != nil {
		return Envelope{}, err
	}
	return e, nil
}

// DecodeIn is Decode for what has come to a shard. The error may be ErrOtherShard, too.
func DecodeIn(here shard.Number, body []byte) (Envelope, error) {
	e, err := Decode(body)
	if err == nil && e.Shard.OrFirst() != here.OrFirst() {
		return Envelope{}, fmt.Errorf("%w: it is of shard %d, and this is %d", ErrOtherShard, e.Shard.OrFirst(), here.OrFirst())
	}
	return e, err
}

func (e Envelope) check() error {
	unreadable := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrUnreadable, fmt.Sprintf(format, args...))
	}
	switch {
	case e.Schema != EnvelopeSchema:
		return unreadable("schema %d", e.Schema)
	case !problem.ValidID(e.TransactionID):
		return unreadable("transactionId %.80q", e.TransactionID)
	case e.Wake < 0:
		return unreadable("wake %d", e.Wake)
	}
	hasBody := len(e.Body) > 0 && !bytes.Equal(e.Body, []byte("null"))
	switch e.Operation {
	case "": // a wake
		if e.Wake == 0 || e.OperationID != "" || hasBody {
			return unreadable("neither an operation nor a wake")
		}
		return nil
	case "start", "reschedule":
		if !hasBody {
			return unreadable("%s without a body", e.Operation)
		}
	case "cancel":
	default:
		return unreadable("operation %.80q", e.Operation)
	}
	switch {
	case !problem.ValidID(e.OperationID):
		return unreadable("operationId %.80q", e.OperationID)
	case e.Wake != 0:
		return unreadable("both an operation and wake %d", e.Wake)
	case e.AcceptedAt.IsZero():
		return unreadable("no acceptedAt")
	case len(e.Body) > MaxBody:
		return unreadable("body of %d bytes", len(e.Body))
	}
	return nil
}
