package broker

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
)

const (
	tokenTypeSAS = "servicebus.windows.net:sastoken"
	tokenTypeJWT = "jwt"
	sasScheme    = "SharedAccessSignature "
)

// PutToken implements [amqp.Service]. The token is a shared access signature
// (Microsoft Learn, "Service Bus access control with Shared Access
// Signatures"): its resource must be the audience or above it.
func (b *Broker) PutToken(_ context.Context, t amqp.Token) error {
	// Python's Event Hubs SDK calls a shared access signature a jwt.
	if t.Type != tokenTypeSAS && (t.Type != tokenTypeJWT || !strings.HasPrefix(t.Value, sasScheme)) {
		return amqp.Errorf(amqp.CondUnauthorizedAccess, "InvalidToken: tokens of type '%s' are not accepted", t.Type)
	}
	until, err := b.checkSAS(t.Value, t.Audience)
	if err != nil {
		return err
	}
	entity, _ := target(path(t.Audience))
	if !b.known(entity) {
		return noEntity(t.Audience)
	}
	b.grants.add(t.Conn.ID, entity[0], until, b.now())
	return nil
}

// checkSAS verifies a signature for an audience and gives its end.
func (b *Broker) checkSAS(value, audience string) (until time.Time, err error) {
	fields, ok := strings.CutPrefix(value, sasScheme)
	if !ok {
		return until, amqp.Errorf(amqp.CondUnauthorizedAccess, "MalformedToken: the token is not a shared access signature")
	}
	var sr, sig, se, skn string
	for field := range strings.SplitSeq(fields, "&") {
		name, v, _ := strings.Cut(field, "=")
		switch name {
		case "sr":
			sr = v
		case "sig":
			sig = unescape(v)
		case "se":
			se = v
		case "skn":
			skn = unescape(v)
		}
	}
	seconds, err := strconv.ParseInt(se, 10, 64)
	if err != nil {
		return until, amqp.Errorf(amqp.CondUnauthorizedAccess, "MalformedToken: the expiry '%s' is no number", se)
	}
	mac := hmac.New(sha256.New, []byte(b.cfg.Key))
	mac.Write([]byte(sr + "\n" + se)) // never fails, says hash.Hash
	want := base64.StdEncoding.EncodeToString(mac.Sum(nil))
	if skn != b.cfg.KeyName || !hmac.Equal([]byte(sig), []byte(want)) {
		return until, amqp.Errorf(amqp.CondUnauthorizedAccess, "InvalidSignature: the token has an invalid signature")
	}
	until = time.Unix(seconds, 0)
	if !until.After(b.now()) {
		return until, amqp.Errorf(amqp.CondUnauthorizedAccess, "ExpiredToken: The token is expired. Expiration time: '%s'", until.UTC().Format(time.RFC1123))
	}
	if !covers(unescape(sr), audience) {
		return until, amqp.Errorf(amqp.CondUnauthorizedAccess, "InvalidAudience: the token is not for '%s'", audience)
	}
	return until, nil
}

// SignIn implements [amqp.Service]: the name of the shared access key and the
// key itself, as clients give them that know nothing of tokens.
func (b *Broker) SignIn(_ context.Context, name, password string) error {
	sameKey := subtle.ConstantTimeCompare([]byte(password), []byte(b.cfg.Key)) == 1
	if name != b.cfg.KeyName || !sameKey {
		return amqp.Errorf(amqp.CondUnauthorizedAccess, "InvalidSignature: the key '%s' or its value is not known", name)
	}
	return nil
}

// grants knows which connection may use which entity, and how long.
type grants struct {
	mu    sync.Mutex
	until map[grant]time.Time
	sweep time.Time // when grants that ran out are looked for again
}

type grant struct{ conn, entity string }

// sweepEvery bounds how long grants of connections that are gone are kept.
const sweepEvery = time.Minute

func (g *grants) add(conn, entity string, until, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.After(g.sweep) {
		for k, end := range g.until {
			if !end.After(now) {
				delete(g.until, k)
			}
		}
		g.sweep = now.Add(sweepEvery)
	}
	k := grant{conn, entity}
	if until.After(g.until[k]) {
		g.until[k] = until
	}
}

// authorized returns nil when the connection has put a token that holds for the
// entity (its name, in lower case), or has signed in with the key.
func (b *Broker) authorized(conn amqp.ConnInfo, entity string) error {
	if conn.User != "" {
		return nil
	}
	b.grants.mu.Lock()
	defer b.grants.mu.Unlock()
	if !b.grants.until[grant{conn.ID, entity}].After(b.now()) {
		return amqp.Errorf(amqp.CondUnauthorizedAccess, "Unauthorized access. A claim for '%s' is required to perform this operation", entity)
	}
	return nil
}
