package cosmos

import (
	"context"
	"errors"
	"hash/crc32"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Faults are of operations on items: points, queries, batches. The account, the
// databases, the containers and their ranges are spared: clients read them once,
// and one of azcosmos 1.5.0 that can't read the account answers everything with
// that for five minutes, which would tell about the client alone.
//
// What azcosmos 1.5.0 makes of them, for an account of one region:
//
//	429                  repeated after x-ms-retry-after-ms, three times
//	503                  told at once
//	408 to a write       told at once, whether it was done or not
//	408 to a read        repeated once, after a second
//	lost answer          told at once as an error of the network
//	412 after a race     told at once
//
// The numbers are those of its default options; the statuses that those name are
// of no use, as what is told at once is marked not to be repeated.

// throttleDelay is what a throttled client is asked to wait. The service asks
// for what is left of the current second.
const throttleDelay = 50 * time.Millisecond

// errAnswerLost cuts the connection in place of an answer.
var errAnswerLost = errors.New("the answer is lost")

// attempt handles a call, unless it is to fail.
func (s *Server) attempt(c *call, handle handler) (*response, error) {
	if s.crashes != nil && c.onItems() && c.writes() && s.crashes.Watches(c.UserAgent()) {
		handle = mortal(handle)
	}
	if s.faults.Idle() || !c.onItems() || slices.Contains(s.spared, c.target.id(0)) {
		return handle(s, c)
	}
	if wait := s.faults.Wait(fault.CosmosSlow); wait > 0 {
		pause(c.Context(), wait)
	}
	if s.faults.Hit(fault.CosmosThrottle) {
		return nil, errThrottled()
	}
	if s.faults.HitIn(fault.CosmosAway, c.target.id(0)) || s.faults.Hit(fault.CosmosUnavailable) {
		return nil, errUnavailable()
	}
	if c.reads(mapContainer, mapItem) && s.mapReaders.second(c.UserAgent(), s.crashes != nil) && s.faults.Hit(fault.CosmosMap) {
		return nil, errUnavailable()
	}
	if key := c.partition(); key != "" && (c.writes() || !stillRead(key)) && s.faults.HitKey(fault.CosmosPartition, key) {
		return nil, errUnavailable()
	}
	n, timedOut := s.faults.Next(fault.CosmosTimeout)
	if timedOut && n%2 == 0 {
		return nil, errTimedOut()
	}
	answer, err := handle(s, c)
	switch {
	case timedOut: // whatever came of it
		return nil, errTimedOut()
	case err == nil && c.writes() && s.faults.Hit(fault.CosmosAnswerLost):
		return nil, errAnswerLost
	}
	return answer, err
}

// onItems reports whether the call is for items of a container.
func (c *call) onItems() bool { return strings.HasPrefix(c.target.pattern, "dbs/*/colls/*/docs") }

// The item with the map of the shards: see package cosmosdb.
const mapContainer, mapItem = "checkpoints", "shards"

// reads reports whether the call reads that item.
func (c *call) reads(container, item string) bool {
	return c.Method == http.MethodGet && len(c.target.ids) > 2 && c.target.id(1) == container && c.target.id(2) == item
}

// writes reports whether the call is to change items.
func (c *call) writes() bool { return c.Method != http.MethodGet && !c.isQuery() }

// stillRead reports whether a partition that is away answers reads all the same, as
// one does that has lost its writers: every second one, by its key.
func stillRead(key string) bool { return crc32.ChecksumIEEE([]byte(key))%2 == 0 }

// pause waits, but not longer than ctx lasts.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// race lets another writer, who changes nothing but the tag and the time, come
// before each operation that holds a tag, so that the operation comes too late.
func (s *Server) race(c *container, partition string, ops []operation) error {
	if s.faults.Idle() || slices.Contains(s.spared, c.database.id) {
		return nil
	}
	for _, op := range ops {
		if op.condition.match == "" || op.condition.match == "*" || !s.faults.Hit(fault.CosmosRace) {
			continue
		}
		// Where the item isn't there, nothing happens to it.
		if _, _, err := s.transact(c, partition, []operation{{kind: opTouch, id: op.id}}); err != nil {
			return err
		}
	}
	return nil
}

// The answers are those of the service's gateway: Microsoft Learn, "HTTP status
// codes for Azure Cosmos DB", "Diagnose and troubleshoot Azure Cosmos DB request
// rate too large (429) exceptions", "... service unavailable exceptions" and
// "... request timeout exceptions".

func errThrottled() *apiError {
	e := newError(http.StatusTooManyRequests, subThroughput, "Message: {\"Errors\":[\"Request rate is large. More Request Units may be needed, so no changes were made. "+
		"Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429\"]}")
	e.retryAfter = throttleDelay
	return e
}

func errUnavailable() *apiError {
	return newError(http.StatusServiceUnavailable, 0, "Message: Service is currently unavailable. More info: https://aka.ms/cosmosdb-tsg-service-unavailable")
}

func errTimedOut() *apiError {
	return newError(http.StatusRequestTimeout, 0, "Message: Request timed out. More info: https://aka.ms/cosmosdb-tsg-request-timeout")
}

// partition names the container and the partition key that the call is for, ""
// if it is for all keys.
func (c *call) partition() string {
	key, given, err := headerPartitionKey(c.Header)
	if !given || err != nil || len(c.target.ids) < 2 {
		return ""
	}
	return c.target.id(1) + "/" + key
}

// readers are those who have read the map, in the order of their first reads. The zero
// value has none; it is safe for concurrent use.
type readers struct {
	mu   sync.Mutex
	seen []string
}

// second reports whether the client with this user agent is the second to read, the
// fourth, and so on: so that of two one has an old map. With instances the processes
// of one, each with an id of its own, are the same reader.
func (r *readers) second(agent string, instances bool) bool {
	name, _, _ := strings.Cut(agent, " ")
	if i := strings.LastIndexByte(name, '.'); instances && i > 0 {
		name = name[:i]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	n := slices.Index(r.seen, name)
	if n < 0 {
		n = len(r.seen)
		r.seen = append(r.seen, name)
	}
	return n%2 == 1
}
