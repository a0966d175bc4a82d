package workflow

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is the hash of an operation's content: its kind, the transaction and the
// canonical form of the body.
func Hash(kind OperationKind, transactionID string, canonical []byte) string {
	h := sha256.New()
	if kind == OperationStart {
		kind = before // stored hashes must go on to match
	}
	// Neither of the two contains a line break, so no two contents look alike.
	h.Write([]byte(string(kind) + "\n" + transactionID + "\n"))
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil))
}
