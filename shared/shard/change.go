package shard

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// Act is what an operator does to the map.
type Act string

// The acts.
const (
	ActAdd    Act = "add"    // a shard: Name, Endpoints, Weight
	ActWeight Act = "weight" // of a Shard: Weight
	ActClose  Act = "close"  // a Shard: it gets no new transactions
	ActClosed Act = "closed" // a closing Shard, in which nothing is left and whose hub refuses
	ActOpen   Act = "open"   // a Shard that is closing
	ActPin    Act = "pin"    // a Caller to a Shard
	ActUnpin  Act = "unpin"  // a Caller
	ActApp    Act = "app"    // of a Shard other than the first: Endpoints.App, "" for none
)

// Acts are all of them.
var Acts = []Act{ActAdd, ActWeight, ActClose, ActClosed, ActOpen, ActPin, ActUnpin, ActApp}

// Change is an act with what it needs.
type Change struct {
	Act       Act       `json:"act"`
	Shard     Number    `json:"shard,omitempty"`
	Name      string    `json:"name,omitempty"`
	Endpoints Endpoints `json:"endpoints,omitzero"`
	Weight    int       `json:"weight,omitempty"`
	Caller    string    `json:"caller,omitempty"`
}

// RefusedError is why a change can't be made to the map as it is, for people.
type RefusedError string

func (e RefusedError) Error() string { return string(e) }

func refused(format string, args ...any) error {
	return RefusedError(fmt.Errorf(format, args...).Error())
}

// Apply returns the map after a change that someone makes at a time, and what the
// change does, in words. What is so already is no change: then it returns m itself.
// The error is a RefusedError. m is left as it is.
func (m *Map) Apply(c Change, at time.Time, by, why string) (next *Map, said string, err error) {
	n := *m
	n.Shards, n.Pins = slices.Clone(m.Shards), maps.Clone(m.Pins)
	said, changed, err := n.apply(c, at)
	if err != nil {
		return nil, "", err
	}
	if !changed {
		return m, said, nil
	}
	n.Version++
	n.History = append(slices.Clone(m.History[max(0, len(m.History)+1-maxHistory):]), Entry{n.Version, at, by, why, said})
	if err := n.Validate(); err != nil {
		return nil, "", refused("the map would be wrong: %w", err)
	}
	return &n, said, nil
}

// apply makes a change, or reports that things are so already.
func (m *Map) apply(c Change, at time.Time) (said string, changed bool, err error) {
	switch c.Act {
	case ActAdd:
		return m.add(c)
	case ActUnpin:
		return m.unpin(c.Caller)
	case ActWeight, ActClose, ActClosed, ActOpen, ActPin, ActApp:
	default:
		return "", false, refused("there is no act %q: use one of %v", c.Act, Acts)
	}
	i := m.index(c.Shard)
	if i < 0 {
		return "", false, refused("there is no shard %d", c.Shard)
	}
	s := &m.Shards[i]
	switch c.Act {
	case ActWeight:
		return m.weigh(s, c.Weight)
	case ActClose:
		return m.close(s)
	case ActClosed:
		return closed(s, at)
	case ActOpen:
		return open(s)
	case ActApp:
		return s.move(c.Endpoints.App)
	}
	return m.pin(c.Caller, *s)
}

func (m *Map) add(c Change) (string, bool, error) {
	for _, s := range m.Shards {
		if s.Name == c.Name && s.Endpoints == c.Endpoints {
			return fmt.Sprintf("shard %d is %s already", s.Number, s.Name), false, nil
		}
	}
	last := slices.MaxFunc(m.Shards, func(a, b Shard) int { return cmp.Compare(a.Number, b.Number) }).Number
	added := Shard{Number: last + 1, Name: c.Name, Endpoints: c.Endpoints, Weight: c.Weight, State: Open}
	if errs := added.faults(); len(errs) > 0 {
		return "", false, refused("shard %q can't be added: %w", c.Name, errs[0])
	}
	if err := appURL(c.Endpoints.App); err != nil {
		return "", false, refused("shard %q can't be added: %w", c.Name, err)
	}
	for _, s := range m.Shards {
		if err := added.apart(s); err != nil {
			return "", false, refused("shard %q can't be added: %w", c.Name, err)
		}
	}
	m.Shards = append(m.Shards, added)
	return fmt.Sprintf("added shard %d, %s, with weight %d", added.Number, added.Name, added.Weight), true, nil
}

// lastOne reports whether callers without a pin come to this shard alone.
func (m *Map) lastOne(s *Shard) bool {
	return s.takes() && !slices.ContainsFunc(m.Shards, func(other Shard) bool { return other.Number != s.Number && other.takes() })
}

func (m *Map) weigh(s *Shard, weight int) (string, bool, error) {
	switch {
	case s.Weight == weight:
		return fmt.Sprintf("shard %d has weight %d already", s.Number, weight), false, nil
	case weight < 0 || weight > MaxWeight:
		return "", false, refused("weight %d is not 0 to %d", weight, MaxWeight)
	case weight == 0 && m.lastOne(s):
		return "", false, refused("shard %d is the last open one with a weight above 0: give another one a weight first", s.Number)
	}
	said := fmt.Sprintf("weight of shard %d from %d to %d", s.Number, s.Weight, weight)
	s.Weight = weight
	return said, true, nil
}

func (m *Map) close(s *Shard) (string, bool, error) {
	switch {
	case s.State != Open:
		return fmt.Sprintf("shard %d is %s already", s.Number, s.State), false, nil
	case m.lastOne(s):
		return "", false, refused("shard %d is the last open one with a weight above 0: add or open another one first", s.Number)
	}
	s.State = Closing
	said := fmt.Sprintf("shard %d is closing", s.Number)
	if n := m.pinnedTo(s.Number); n > 0 {
		said += fmt.Sprintf(": the new transactions of its %d pinned callers go where weights lead them", n)
	}
	return said, true, nil
}

// closed ends what close began, for good. The first shard holds the map and the directory:
// it may be closing for as long as it likes.
func closed(s *Shard, at time.Time) (string, bool, error) {
	switch {
	case s.State == Closed:
		return fmt.Sprintf("shard %d is closed already", s.Number), false, nil
	case s.State == Open:
		return "", false, refused("shard %d is open: close it first", s.Number)
	case s.Number == First:
		return "", false, refused("shard %d holds the map and the directory: it can be closing, and is never closed for good", First)
	}
	s.State, s.ClosedAt = Closed, at
	return fmt.Sprintf("shard %d is closed", s.Number), true, nil
}

func (m *Map) pinnedTo(n Number) (callers int) {
	for _, to := range m.Pins {
		if to == n {
			callers++
		}
	}
	return callers
}

func open(s *Shard) (string, bool, error) {
	switch s.State {
	case Open:
		return fmt.Sprintf("shard %d is open already", s.Number), false, nil
	case Closed:
		return "", false, refused("shard %d is closed for good: add a new one", s.Number)
	}
	s.State = Open
	return fmt.Sprintf("shard %d is open again", s.Number), true, nil
}

// move sets where the shard's app is.
func (s *Shard) move(app string) (string, bool, error) {
	switch err := appURL(app); {
	case err != nil:
		return "", false, refused("shard %d: %w", s.Number, err)
	case s.Number == First:
		return "", false, refused("the app of shard %d is the front itself", First)
	case app == s.Endpoints.App:
		return fmt.Sprintf("the app of shard %d is there already", s.Number), false, nil
	}
	s.Endpoints.App = app
	if app == "" {
		return fmt.Sprintf("shard %d has no app any more", s.Number), true, nil
	}
	return fmt.Sprintf("the app of shard %d is at %s", s.Number, app), true, nil
}

// appURL returns what is wrong with where an app is said to be; "" says nothing.
func appURL(app string) error {
	if u, err := url.Parse(app); app != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return fmt.Errorf("its app %q is not a URL such as https://host", app)
	}
	return nil
}

func (m *Map) pin(caller string, to Shard) (string, bool, error) {
	from, pinned := m.Pins[caller]
	switch err := text(caller); {
	case err != nil:
		return "", false, refused("the caller %w", err)
	case pinned && from == to.Number:
		return fmt.Sprintf("caller %s is pinned to shard %d already", caller, to.Number), false, nil
	case to.State != Open:
		return "", false, refused("shard %d is %s: pin to an open one", to.Number, to.State)
	case !pinned && len(m.Pins) >= MaxPins:
		return "", false, refused("there are %d pins, and more are not possible: unpin another caller first", MaxPins)
	}
	if m.Pins == nil {
		m.Pins = map[string]Number{}
	}
	m.Pins[caller] = to.Number
	said := fmt.Sprintf("pinned caller %s to shard %d", caller, to.Number)
	if pinned {
		said += fmt.Sprintf(" instead of %d", from)
	}
	return said, true, nil
}

func (m *Map) unpin(caller string) (string, bool, error) {
	from, pinned := m.Pins[caller]
	if !pinned {
		return fmt.Sprintf("caller %s is not pinned", caller), false, nil
	}
	delete(m.Pins, caller)
	return fmt.Sprintf("unpinned caller %s from shard %d", caller, from), true, nil
}
