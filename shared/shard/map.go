package shard

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Number names a shard, from 1, and is never used again. In what is stored the
// first one's is left out: see OrFirst.
type Number uint16

// First holds the map and the directory, and everything from before there were
// shards.
const First Number = 1

// OrFirst returns the number that was stored as n.
func (n Number) OrFirst() Number { return max(n, First) }

// IsZero reports whether n is left out of a document.
func (n Number) IsZero() bool { return n <= First }

// State is what a shard takes.
type State string

// The states. They follow on each other; a closing one may be opened again.
const (
	Open    State = "open"    // new transactions
	Closing State = "closing" // repeats and changes of its own
	Closed  State = "closed"  // nothing: its hub refuses
)

// The limits of a map, which is one document.
const (
	MaxPins    = 10_000
	MaxWeight  = 1000
	maxHistory = 100
	maxShards  = 1000
	maxText    = 256 // characters of a name, an address or a caller
)

// Endpoints are where a shard is, for the front.
type Endpoints struct {
	// EventHubs is the namespace of its hub, and CosmosDB the endpoint of its
	// account; "" is that of the front.
	EventHubs string `json:"eventHubs,omitempty"`
	CosmosDB  string `json:"cosmosDB,omitempty"`
	Hub       string `json:"hub"`
	Database  string `json:"database"`
	// App is the URL of the app that works there, for operators; "" is the front.
	App string `json:"app,omitempty"`
}

// Shard is one place for transactions.
type Shard struct {
	Number    Number    `json:"number"`
	Name      string    `json:"name"`
	Endpoints Endpoints `json:"endpoints"`
	// Weight is its part of the new transactions of callers without a pin, beside the
	// weights of the other open shards: 0 to MaxWeight.
	Weight int   `json:"weight"`
	State  State `json:"state"`
	// ClosedAt is when it was closed.
	ClosedAt time.Time `json:"closedAt,omitzero"`
}

// takes reports whether callers without a pin come to the shard.
func (s Shard) takes() bool { return s.State == Open && s.Weight > 0 }

// Map says where new transactions go. Its readers share it: only Apply makes
// another.
type Map struct {
	// Version is 0 for a map that was never stored, and +1 for each change.
	Version int               `json:"version"`
	Shards  []Shard           `json:"shards"`         // by number
	Pins    map[string]Number `json:"pins,omitempty"` // by caller
	History []Entry           `json:"history"`        // the latest changes, the newest last
}

// Entry is a change that was made.
type Entry struct {
	Version int       `json:"version"` // that it made
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Why     string    `json:"why"`
	Change  string    `json:"change"` // for people
}

// Alone is the map of a system with one shard.
func Alone(home Endpoints) *Map {
	return &Map{Shards: []Shard{{Number: First, Name: "first", Endpoints: home, Weight: 100, State: Open}}, History: []Entry{}}
}

// Shard returns a shard, false if there is none with that number.
func (m *Map) Shard(n Number) (Shard, bool) {
	if i := m.index(n); i >= 0 {
		return m.Shards[i], true
	}
	return Shard{}, false
}

// Has reports whether there is a shard with that number.
func (m *Map) Has(n Number) bool { return m.index(n) >= 0 }

func (m *Map) index(n Number) int {
	return slices.IndexFunc(m.Shards, func(s Shard) bool { return s.Number == n })
}

// Place returns the shard for a new transaction of a caller: that of its pin, or
// one of the others by weight, as random, of all 64 bits, decides. A shard that isn't
// open, or is in without, is passed over. It reports false if none is left.
func (m *Map) Place(caller string, random uint64, without []Number) (Number, bool) {
	if n, ok := m.Pins[caller]; ok && !slices.Contains(without, n) {
		if i := m.index(n); i >= 0 && m.Shards[i].State == Open {
			return n, true
		}
	}
	total := 0
	for i := range m.Shards {
		if s := &m.Shards[i]; s.takes() && !slices.Contains(without, s.Number) {
			total += s.Weight
		}
	}
	at, _ := bits.Mul64(random, uint64(total)) // below total
	for i := range m.Shards {
		s := &m.Shards[i]
		if !s.takes() || slices.Contains(without, s.Number) {
			continue
		}
		if at < uint64(s.Weight) {
			return s.Number, true
		}
		at -= uint64(s.Weight)
	}
	return 0, false
}

// Validate returns what is wrong with a map, nil if nothing is.
func (m *Map) Validate() error {
	var errs []error
	note := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if m.Version < 0 {
		note("version %d is below 0", m.Version)
	}
	if len(m.Shards) > maxShards {
		note("%d shards are more than %d", len(m.Shards), maxShards)
	}
	if !m.Has(First) {
		note("shard %d is missing", First)
	}
	if !slices.ContainsFunc(m.Shards, Shard.takes) {
		note("no shard is open with a weight above 0")
	}
	for i, s := range m.Shards {
		if i > 0 && m.Shards[i-1].Number >= s.Number {
			note("shard %d stands behind shard %d", s.Number, m.Shards[i-1].Number)
		}
		for _, err := range s.faults() {
			note("shard %d: %w", s.Number, err)
		}
		for _, other := range m.Shards[:i] {
			if err := s.apart(other); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(m.Pins) > MaxPins {
		note("%d pins are more than %d", len(m.Pins), MaxPins)
	}
	for caller, n := range m.Pins {
		if err := text(caller); err != nil {
			note("the pinned caller %.40q %w", caller, err)
		}
		if !m.Has(n) {
			note("caller %q is pinned to shard %d, which is missing", caller, n)
		}
	}
	if len(m.History) > maxHistory {
		note("%d entries of history are more than %d", len(m.History), maxHistory)
	}
	return errors.Join(errs...)
}

// faults are what is wrong with a shard by itself.
func (s Shard) faults() []error {
	var errs []error
	if s.Number < First {
		errs = append(errs, errors.New("numbers begin with 1"))
	}
	for _, t := range []struct {
		what, text string
		optional   bool
	}{
		{"name", s.Name, false}, {"hub", s.Endpoints.Hub, false}, {"database", s.Endpoints.Database, false},
		{"address of Event Hubs", s.Endpoints.EventHubs, true}, {"address of Cosmos DB", s.Endpoints.CosmosDB, true}, {"address of its app", s.Endpoints.App, true},
	} {
		if t.optional && t.text == "" {
			continue
		}
		if err := text(t.text); err != nil {
			errs = append(errs, fmt.Errorf("its %s %w", t.what, err))
		}
	}
	if s.Weight < 0 || s.Weight > MaxWeight {
		errs = append(errs, fmt.Errorf("weight %d is not 0 to %d", s.Weight, MaxWeight))
	}
	if s.State != Open && s.State != Closing && s.State != Closed {
		errs = append(errs, fmt.Errorf("state %q is none of %s, %s and %s", s.State, Open, Closing, Closed))
	}
	if s.State == Closed && s.Number == First {
		errs = append(errs, errors.New("it holds the map and the directory, and is never closed"))
	}
	return errs
}

// apart returns an error if two shards are one and the same somewhere.
func (s Shard) apart(other Shard) error {
	e, o := s.Endpoints, other.Endpoints
	switch {
	case s.Name == other.Name:
		return fmt.Errorf("shards %d and %d are both named %s", other.Number, s.Number, s.Name)
	case e.EventHubs == o.EventHubs && e.Hub == o.Hub:
		return fmt.Errorf("shards %d and %d have the same hub, %s", other.Number, s.Number, e.Hub)
	case e.CosmosDB == o.CosmosDB && e.Database == o.Database:
		return fmt.Errorf("shards %d and %d have the same database, %s", other.Number, s.Number, e.Database)
	}
	return nil
}

// text returns what is wrong with a name, an address or a caller.
func text(s string) error {
	switch {
	case s == "":
		return errors.New("is missing")
	case !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxText:
		return fmt.Errorf("must have up to %d characters", maxText)
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return errors.New("must not have spaces and control characters")
	}
	return nil
}
