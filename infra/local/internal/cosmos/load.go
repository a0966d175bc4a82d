package cosmos

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// Keys in the store. The items of a container are under its number, each under
// its sequence.
const (
	counterKey      = "cosmos/counter"
	databasePrefix  = "cosmos/database/"
	containerPrefix = "cosmos/container/"
	offerPrefix     = "cosmos/offer/"
)

type databaseRecord struct {
	ID       string `json:"id"`
	ETag     string `json:"etag"`
	Modified int64  `json:"modified"`
}

type containerRecord struct {
	Database   string          `json:"database"`
	Ranges     int             `json:"ranges"`
	ETag       string          `json:"etag"`
	Modified   int64           `json:"modified"`
	Properties json.RawMessage `json:"properties"`
}

func (d *database) storeKey() string { return fmt.Sprintf("%s%08x", databasePrefix, d.number) }

func (d *database) save(b *store.Batch) {
	put(b, d.storeKey(), databaseRecord{d.id, d.etag, d.modified})
}

func (c *container) storeKey() string { return fmt.Sprintf("%s%08x", containerPrefix, c.number) }

func (c *container) save(b *store.Batch) {
	s := c.current.Load()
	put(b, c.storeKey(), containerRecord{c.database.id, len(c.ranges), s.etag, s.modified, sql.AppendJSON(nil, s.properties)})
}

func (s *Server) saveCounter(b *store.Batch) { put(b, counterKey, s.next) }

// put stores a record as JSON. Records are of types that always have a JSON text.
func put(b *store.Batch, key string, record any) {
	text, err := json.Marshal(record)
	if err != nil {
		panic(fmt.Sprintf("cosmos: encode %s: %v", key, err))
	}
	b.Put(key, text)
}

// load rebuilds the state from the store.
func (s *Server) load() error {
	for key, value := range s.store.All(counterKey) {
		if err := json.Unmarshal(value, &s.next); err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
	}
	for key, value := range s.store.All(databasePrefix) {
		var r databaseRecord
		number, err := record(key, value, &r)
		if err != nil {
			return err
		}
		s.databases[r.ID] = &database{id: r.ID, number: number, etag: r.ETag, modified: r.Modified, containers: make(map[string]*container)}
	}
	for key, value := range s.store.All(containerPrefix) {
		if err := s.loadContainer(key, value); err != nil {
			return err
		}
	}
	for key, value := range s.store.All(offerPrefix) {
		var r offerRecord
		number, err := record(key, value, &r)
		if err != nil {
			return err
		}
		content, err := sql.Decode(r.Content)
		if err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
		o := &offer{number: number, target: r.Target, link: r.Link, content: content, etag: r.ETag, modified: r.Modified}
		s.offers[strings.ToLower(o.rid())] = o
	}
	return nil
}

func (s *Server) loadContainer(key string, value []byte) error {
	var r containerRecord
	number, err := record(key, value, &r)
	if err != nil {
		return err
	}
	d := s.databases[r.Database]
	if d == nil {
		return fmt.Errorf("load %s: database %q is missing", key, r.Database)
	}
	properties, err := sql.Decode(r.Properties)
	if err != nil {
		return fmt.Errorf("load %s: %w", key, err)
	}
	ttl, _ := properties.Member("defaultTtl").Integer()
	c := newContainer(d, properties.Member("id").Text(), number, r.Ranges,
		&settings{properties: properties, defaultTTL: ttl, etag: r.ETag, modified: r.Modified})
	d.containers[c.id] = c
	for key, text := range s.store.All(c.itemStorePrefix()) {
		sequence, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 16, 64)
		if err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
		i, err := loadItem(c, sequence, text)
		if err != nil {
			return fmt.Errorf("load %s: %w", key, err)
		}
		home := c.rangeOf(i.key.partition)
		home.put(i)
		home.writes++
		c.sequence.Store(sequence)
	}
	return nil
}

// Counts are how much an account holds.
type Counts struct {
	Containers int
	Documents  int // those whose time to live is over and that were not removed yet included
}

// Counts counts what there is now; each range of a container at its own moment.
func (s *Server) Counts() Counts {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var n Counts
	for _, d := range s.databases {
		for _, c := range d.containers {
			n.Containers++
			for _, r := range c.ranges {
				r.mu.RLock()
				n.Documents += len(r.items)
				r.mu.RUnlock()
			}
		}
	}
	return n
}

// record reads a record and the number that its key ends with.
func record(key string, value []byte, into any) (uint32, error) {
	if err := json.Unmarshal(value, into); err != nil {
		return 0, fmt.Errorf("load %s: %w", key, err)
	}
	number, err := strconv.ParseUint(key[strings.LastIndexByte(key, '/')+1:], 16, 32)
	if err != nil {
		return 0, fmt.Errorf("load %s: %w", key, err)
	}
	return uint32(number), nil
}
