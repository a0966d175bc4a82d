package chaos

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
)

// receiver is who wants to be told of the ends: a webhook, outside of what is
// killed. It is as unreliable as the rest: it refuses some news, and answers
// some so late, or not at all, that they come again. It verifies each signature.
type receiver struct {
	seed   []byte // of the signing key
	public ed25519.PublicKey
	server *http.Server
	watch  *effect.Watch // kills who brings news; nil kills nobody
	url    string

	mu      sync.Mutex
	random  *rand.Rand
	told    map[string]bool // ids of the news that it has answered as taken
	again   int             // of them, that came once more
	refused int             // that it has not taken at first
	bad     []Finding       // news that nobody could have signed, or that are none
}

// The parts of the news that the receiver does not take, or takes without its
// sender learning of it.
const (
	refusedNews = 0.05
	lostAnswers = 0.05
)

// listen starts the receiver on a free port. Close must be called.
func listen(seed uint64, watch *effect.Watch) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the news of ends: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, 0x6e657773))
	key := make([]byte, ed25519.SeedSize)
	for i := range key {
		key[i] = byte(random.UintN(256))
	}
	r := &receiver{
		seed: key, public: ed25519.NewKeyFromSeed(key).Public().(ed25519.PublicKey),
		url: "http://" + listener.Addr().String() + "/ends", random: random, watch: watch, told: map[string]bool{},
	}
	r.server = &http.Server{Handler: door.Guard(listener.Addr(), r), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // ends with close
	return r, nil
}

// settings make the app tell the receiver.
func (r *receiver) settings() []string {
	return []string{"NOTIFY_URL=" + r.url, "NOTIFY_SIGNING_KEY=whsk_" + base64.StdEncoding.EncodeToString(r.seed)}
}

func (r *receiver) close() error { return r.server.Close() }

// ServeHTTP takes one piece of news.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20))
	if err != nil {
		return // its sender is gone
	}
	var event struct {
		ID string `json:"id"`
	}
	r.dies(req, effect.Before)
	valid := r.signed(req.Header, body) && json.Unmarshal(body, &event) == nil && event.ID != ""
	status, changed := r.take(event.ID, body, valid)
	if changed {
		r.dies(req, effect.Answer)
	}
	if status == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(status)
}

// take decides what a piece of news is answered, 0 for nothing, and whether it
// was news.
func (r *receiver) take(id string, body []byte, valid bool) (status int, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !valid {
		r.bad = append(r.bad, Finding{id, "news with a signature that does not fit: " + string(body)})
		return http.StatusUnauthorized, false
	}
	roll := r.random.Float64()
	if roll < refusedNews {
		r.refused++
		return http.StatusServiceUnavailable, false
	}
	changed = !r.told[id]
	if !changed {
		r.again++
	}
	r.told[id] = true
	if roll < refusedNews+lostAnswers {
		return 0, changed
	}
	return http.StatusNoContent, changed
}

// dies kills the handler that brings the news if that is its last effect, and
// ends the request when it is gone.
func (r *receiver) dies(req *http.Request, ending string) {
	if death := r.watch.Passes(req.UserAgent(), ending, effect.Notice); death != nil {
		death.Bring(req.Context().Done())
		panic(http.ErrAbortHandler)
	}
}

// signed verifies what Standard Webhooks asks of a receiver, by the standard
// library alone.
func (r *receiver) signed(header http.Header, body []byte) bool {
	id, at := header.Get("webhook-id"), header.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	content := append([]byte(id+"."+at+"."), body...)
	for _, signature := range strings.Fields(header.Get("webhook-signature")) {
		encoded, ok := strings.CutPrefix(signature, "v1a,")
		raw, err := base64.StdEncoding.DecodeString(encoded)
		if ok && err == nil && ed25519.Verify(r.public, content, raw) {
			return true
		}
	}
	return false
}

// News is what the receiver was told.
type News struct {
	Told    int `json:"told"`    // different ones
	Again   int `json:"again"`   // that came once more
	Refused int `json:"refused"` // at first
}

// check returns what the receiver was told, and which ends it was not told of,
// though the system believes so.
func (r *receiver) check(s invariant.Snapshot) (News, []Finding) {
	r.mu.Lock()
	defer r.mu.Unlock()
	findings := append([]Finding{}, r.bad...)
	for i := range s.Transactions {
		p := &s.Transactions[i]
		waiting := map[int]bool{}
		for _, n := range p.Outbox.Notices {
			waiting[n.Number] = true
		}
		for n := 1; n <= p.Outbox.Count; n++ {
			if id := fmt.Sprintf("%s/%d", p.ID, n); !waiting[n] && !r.told[id] {
				findings = append(findings, Finding{p.ID, fmt.Sprintf("the receiver was never told of end %d", n)})
			}
		}
	}
	return News{Told: len(r.told), Again: r.again, Refused: r.refused}, findings
}
