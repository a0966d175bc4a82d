package quarantine

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Base64 is the Encoding of a body that is not text.
const Base64 = "base64"

// Entry is one thing in quarantine, as it is stored. The id, see EntryID, is unique
// within the source, which is the partition key.
type Entry struct {
	ID     string `json:"id"`
	Source string `json:"source"`
	// SequenceNumber is stored as a string: that of a partitioned entity is
	// beyond what a number in JSON holds.
	SequenceNumber int64 `json:"sequenceNumber,string"`
	// Reason is a short code that can be searched for; Detail is for people.
	Reason string `json:"reason"`
	Detail string `json:"detail,omitempty"`
	// Body is the text of the body, or its base64 form when Encoding says so.
	// Bytes gives the original.
	Body       string         `json:"body,omitempty"`
	Encoding   string         `json:"encoding,omitempty"`
	Properties map[string]any `json:"properties,omitempty"`
	// TransactionID and MessageID are empty where they are not known.
	TransactionID string    `json:"transactionId,omitempty"`
	MessageID     string    `json:"messageId,omitempty"`
	At            time.Time `json:"at"` // when it was first kept
	// State and Acts are what operators have made of it.
	State State `json:"state"`
	Acts  []Act `json:"acts,omitempty"` // oldest first; see MaxActs
	// TTL is how long the entry lives after its last write, in seconds.
	TTL int `json:"ttl,omitempty"`
}

// EventSource names a partition of a hub as a source.
func EventSource(hub, partition string) string { return hub + "." + partition }

// QueueSource names a queue as a source, for messages that were unreadable.
func QueueSource(queue string) string { return queue }

// DeadLetterSource names a queue's dead-letter sub-queue as a source.
func DeadLetterSource(queue string) string { return queue + ".deadletter" }

// EntryID is the id of an entry: its sequence number within the source, and a part
// of the hash of its MessageID and its body. Numbers begin again when a hub or a
// queue was created anew, and what comes then must not be taken for what was kept
// under its number before. The same message always gets the same id.
func EntryID(e Entry) string {
	sum := sha256.Sum256([]byte(strconv.Quote(e.MessageID) + e.Encoding + "\n" + e.Body))
	return e.Source + "." + strconv.FormatInt(e.SequenceNumber, 10) + "." + hex.EncodeToString(sum[:6])
}

// ValidEntryID reports whether id can be that of an entry of source. Those of
// earlier versions have no hash.
func ValidEntryID(source, id string) bool {
	rest, ok := strings.CutPrefix(id, source+".")
	if !ok || !sourcePattern.MatchString(source) {
		return false
	}
	number, hash, hashed := strings.Cut(rest, ".")
	n, err := strconv.ParseInt(number, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == number && (!hashed || hashPattern.MatchString(hash))
}

var hashPattern = regexp.MustCompile(`^[0-9a-f]{12}$`)

// sourcePattern is what the names of hubs, queues and partitions are made of.
var sourcePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,200}$`)

// maxText is the longest body that is stored as text, in bytes: JSON makes some
// signs six times as long.
const maxText = 224 << 10

// maxStored is the largest entry that is stored, in bytes of JSON: an event of
// 1 MiB, the largest that a hub takes, in base64, with some properties. It leaves
// room below what Cosmos DB takes for what operators do.
const maxStored = 1408 << 10

// SetBody stores body: as it is if it is UTF-8, not too long for that, and has no
// control characters but white space; as base64 otherwise.
func (e *Entry) SetBody(body []byte) {
	control := func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }
	if len(body) <= maxText && utf8.Valid(body) && !bytes.ContainsFunc(body, control) {
		e.Body, e.Encoding = string(body), ""
		return
	}
	e.Body, e.Encoding = base64.StdEncoding.EncodeToString(body), Base64
}

// Bytes returns the body as it came.
func (e *Entry) Bytes() ([]byte, error) {
	switch e.Encoding {
	case "":
		return []byte(e.Body), nil
	case Base64:
		body, err := base64.StdEncoding.DecodeString(e.Body)
		if err != nil {
			return nil, fmt.Errorf("decode body of quarantine entry %s: %w", e.ID, err)
		}
		return body, nil
	}
	return nil, fmt.Errorf("body of quarantine entry %s: unknown encoding %q", e.ID, e.Encoding)
}
