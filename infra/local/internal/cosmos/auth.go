package cosmos

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxSkew is how far the date of a request may be from now.
const maxSkew = 15 * time.Minute

// authorize checks the master-key signature of a request (Microsoft Learn,
// "Access control on Azure Cosmos DB resources").
func (s *Server) authorize(r *http.Request, t target) *apiError {
	header := r.Header.Get("Authorization")
	if header == "" {
		return newError(http.StatusUnauthorized, 0, "Required Header authorization is missing. Ensure a valid Authorization token is passed.")
	}
	kind, signature := parseToken(header)
	switch kind {
	case "master":
	case "aad", "resource":
		return newError(http.StatusUnauthorized, 0, "Authorization tokens of type %s are not accepted by this account: sign with the account key.", kind)
	default:
		return newError(http.StatusUnauthorized, 0, "Authorization header doesn't confirm to the required format. Please verify and try again.")
	}
	date := r.Header.Get("x-ms-date")
	if date == "" {
		date = r.Header.Get("Date")
	}
	payload := strings.ToLower(r.Method) + "\n" + strings.ToLower(t.kind) + "\n" + t.link + "\n" + strings.ToLower(date) + "\n\n"
	if !hmac.Equal(signature, sign(s.key, payload)) {
		return newError(http.StatusUnauthorized, 0, "The input authorization token can't serve the request. "+
			"The wrong key is being used or the expected payload is not built as per the protocol. "+
			"Server used the following payload to sign: '%s'", payload)
	}
	at, err := http.ParseTime(date)
	if err != nil {
		return newError(http.StatusUnauthorized, 0, "The input date header is invalid format: '%s'.", date)
	}
	if now := s.now(); now.Sub(at).Abs() > maxSkew {
		return newError(http.StatusForbidden, 0, "The authorization token is not valid at the current time. "+
			"Please create another token and retry (token start time: %s, token expiry time: %s, current server time: %s).",
			at.UTC().Format(http.TimeFormat), at.Add(maxSkew).UTC().Format(http.TimeFormat), now.UTC().Format(http.TimeFormat))
	}
	return nil
}

// parseToken splits type=…&ver=…&sig=…, escaped as a query string. The
// signature is nil when it can't be read.
func parseToken(header string) (kind string, signature []byte) {
	token, err := url.PathUnescape(header) // unlike QueryUnescape it keeps +
	if err != nil {
		return "", nil
	}
	for field := range strings.SplitSeq(token, "&") {
		name, value, _ := strings.Cut(field, "=")
		switch name {
		case "type":
			kind = value
		case "sig":
			if decoded, err := base64.StdEncoding.DecodeString(value); err == nil {
				signature = decoded
			}
		}
	}
	return kind, signature
}

func sign(key []byte, payload string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(payload))
	return mac.Sum(nil)
}
