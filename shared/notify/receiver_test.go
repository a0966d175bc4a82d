package notify_test

// This is the receiver of docs/notifications.md, which holds the text from
// "verify" on; a test compares them.

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// verify returns an error unless one of the keys (whpk_…) has signed the request
// within the last five minutes. The body is the bytes as they came.
func verify(header http.Header, body []byte, now time.Time, keys ...string) error {
	id, timestamp := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil {
		return errors.New("no timestamp")
	}
	if age := now.Sub(time.Unix(seconds, 0)); age.Abs() > 5*time.Minute {
		return fmt.Errorf("signed %v ago", age)
	}
	content := append([]byte(id+"."+timestamp+"."), body...)
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1a,")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if !ok || err != nil {
			continue // of another scheme
		}
		for _, key := range keys {
			public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whpk_"))
			if err == nil && len(public) == ed25519.PublicKeySize && ed25519.Verify(public, content, raw) {
				return nil
			}
		}
	}
	return errors.New("no signature by a known key")
}

// Event is what of a CloudEvent is used here.
type Event struct {
	ID   string `json:"id"`
	Type string `json:"type"`
	Data struct {
		TransactionID string    `json:"transactionId"`
		State         string    `json:"state"`
		At            time.Time `json:"at"`
	} `json:"data"`
}

// receive returns a handler of events. take stores an event and returns nil, also
// for one whose id it has stored before; the work on it comes later.
func receive(take func(Event) error, keys ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 64<<10))
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		if err := verify(r.Header, body, time.Now(), keys...); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		var e Event
		if err := json.Unmarshal(body, &e); err != nil {
			http.Error(w, "no event", http.StatusBadRequest)
			return
		}
		if err := take(e); err != nil {
			http.Error(w, "not stored", http.StatusServiceUnavailable) // it comes again
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}
