package shard

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

var (
	noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)
	home = Endpoints{Hub: "requests", Database: "fabrikam"}
)

func there(name string) Endpoints {
	return Endpoints{Hub: "requests-" + name, Database: "fabrikam-" + name}
}

// apply makes changes that must all be possible.
func apply(t *testing.T, m *Map, changes ...Change) *Map {
	t.Helper()
	for _, c := range changes {
		next, _, err := m.Apply(c, noon, "op", "test")
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		m = next
	}
	return m
}

// three has shards 1 and 2 open, 3 closing, and a caller pinned to 2.
func three(t *testing.T) *Map {
	t.Helper()
	return apply(t, Alone(home),
		Change{Act: ActAdd, Name: "b", Endpoints: there("b"), Weight: 300},
		Change{Act: ActAdd, Name: "c", Endpoints: there("c"), Weight: 100},
		Change{Act: ActPin, Caller: "ann", Shard: 2},
		Change{Act: ActClose, Shard: 3})
}

func TestChanges(t *testing.T) {
	closed := three(t)
	closed.Shards[2].State = Closed
	for name, c := range map[string]struct {
		m      *Map
		change Change
		said   string
		so     bool // already
		err    string
	}{
		"closed":           {m: three(t), change: Change{Act: ActClosed, Shard: 3}, said: "shard 3 is closed"},
		"closed twice":     {m: closed, change: Change{Act: ActClosed, Shard: 3}, said: "shard 3 is closed already", so: true},
		"closed at once":   {m: three(t), change: Change{Act: ActClosed, Shard: 2}, err: "shard 2 is open: close it first"},
		"close a closed":   {m: closed, change: Change{Act: ActClose, Shard: 3}, said: "shard 3 is closed already", so: true},
		"the first closed": {m: apply(t, three(t), Change{Act: ActClose, Shard: 1}), change: Change{Act: ActClosed, Shard: 1}, err: "shard 1 holds the map and the directory: it can be closing, and is never closed for good"},
		"add":              {m: Alone(home), change: Change{Act: ActAdd, Name: "b", Endpoints: there("b"), Weight: 7}, said: "added shard 2, b, with weight 7"},
		"add twice":        {m: three(t), change: Change{Act: ActAdd, Name: "b", Endpoints: there("b")}, said: "shard 2 is b already", so: true},
		"add a name twice": {m: three(t), change: Change{Act: ActAdd, Name: "b", Endpoints: there("d")}, err: `shard "b" can't be added: shards 2 and 4 are both named b`},
		"add a hub twice":  {m: three(t), change: Change{Act: ActAdd, Name: "d", Endpoints: Endpoints{Hub: "requests", Database: "d"}}, err: `shard "d" can't be added: shards 1 and 4 have the same hub, requests`},
		"add a database twice": {m: three(t), change: Change{Act: ActAdd, Name: "d", Endpoints: Endpoints{Hub: "d", Database: "fabrikam"}},
			err: `shard "d" can't be added: shards 1 and 4 have the same database, fabrikam`},
		"add elsewhere":         {m: Alone(home), change: Change{Act: ActAdd, Name: "b", Endpoints: Endpoints{EventHubs: "b.servicebus.windows.net", Hub: "requests", CosmosDB: "https://b", Database: "fabrikam"}}, said: "added shard 2, b, with weight 0"},
		"add nowhere":           {m: Alone(home), change: Change{Act: ActAdd, Name: "b"}, err: `shard "b" can't be added: its hub is missing`},
		"add without a name":    {m: Alone(home), change: Change{Act: ActAdd, Endpoints: there("b")}, err: `shard "" can't be added: its name is missing`},
		"add too heavy":         {m: Alone(home), change: Change{Act: ActAdd, Name: "b", Endpoints: there("b"), Weight: 1001}, err: `shard "b" can't be added: weight 1001 is not 0 to 1000`},
		"weight":                {m: three(t), change: Change{Act: ActWeight, Shard: 2, Weight: 5}, said: "weight of shard 2 from 300 to 5"},
		"weight so":             {m: three(t), change: Change{Act: ActWeight, Shard: 2, Weight: 300}, said: "shard 2 has weight 300 already", so: true},
		"weight below":          {m: three(t), change: Change{Act: ActWeight, Shard: 2, Weight: -1}, err: "weight -1 is not 0 to 1000"},
		"weight of the last":    {m: Alone(home), change: Change{Act: ActWeight, Shard: 1}, err: "shard 1 is the last open one with a weight above 0: give another one a weight first"},
		"close":                 {m: three(t), change: Change{Act: ActClose, Shard: 1}, said: "shard 1 is closing"},
		"close with pins":       {m: three(t), change: Change{Act: ActClose, Shard: 2}, said: "shard 2 is closing: the new transactions of its 1 pinned callers go where weights lead them"},
		"close closing":         {m: three(t), change: Change{Act: ActClose, Shard: 3}, said: "shard 3 is closing already", so: true},
		"close closed":          {m: closed, change: Change{Act: ActClose, Shard: 3}, said: "shard 3 is closed already", so: true},
		"close the last":        {m: Alone(home), change: Change{Act: ActClose, Shard: 1}, err: "shard 1 is the last open one with a weight above 0: add or open another one first"},
		"open":                  {m: three(t), change: Change{Act: ActOpen, Shard: 3}, said: "shard 3 is open again"},
		"open so":               {m: three(t), change: Change{Act: ActOpen, Shard: 1}, said: "shard 1 is open already", so: true},
		"open closed":           {m: closed, change: Change{Act: ActOpen, Shard: 3}, err: "shard 3 is closed for good: add a new one"},
		"open missing":          {m: three(t), change: Change{Act: ActOpen, Shard: 9}, err: "there is no shard 9"},
		"pin":                   {m: three(t), change: Change{Act: ActPin, Caller: "bob", Shard: 1}, said: "pinned caller bob to shard 1"},
		"pin again":             {m: three(t), change: Change{Act: ActPin, Caller: "ann", Shard: 1}, said: "pinned caller ann to shard 1 instead of 2"},
		"pin so":                {m: three(t), change: Change{Act: ActPin, Caller: "ann", Shard: 2}, said: "caller ann is pinned to shard 2 already", so: true},
		"pin to closing":        {m: three(t), change: Change{Act: ActPin, Caller: "ann", Shard: 3}, err: "shard 3 is closing: pin to an open one"},
		"pin to closed":         {m: closed, change: Change{Act: ActPin, Caller: "ann", Shard: 3}, err: "shard 3 is closed: pin to an open one"},
		"pin to nowhere":        {m: three(t), change: Change{Act: ActPin, Caller: "ann", Shard: 4}, err: "there is no shard 4"},
		"pin nobody":            {m: three(t), change: Change{Act: ActPin, Shard: 1}, err: "the caller is missing"},
		"unpin":                 {m: three(t), change: Change{Act: ActUnpin, Caller: "ann"}, said: "unpinned caller ann from shard 2"},
		"unpin so":              {m: three(t), change: Change{Act: ActUnpin, Caller: "bob"}, said: "caller bob is not pinned", so: true},
		"no act":                {m: three(t), change: Change{Act: "move", Shard: 1}, err: `there is no act "move": use one of [add weight close closed open pin unpin app]`},
		"app":                   {m: three(t), change: Change{Act: ActApp, Shard: 2, Endpoints: Endpoints{App: "https://b"}}, said: "the app of shard 2 is at https://b"},
		"app so":                {m: three(t), change: Change{Act: ActApp, Shard: 2}, said: "the app of shard 2 is there already", so: true},
		"app of the front":      {m: three(t), change: Change{Act: ActApp, Shard: 1, Endpoints: Endpoints{App: "https://b"}}, err: "the app of shard 1 is the front itself"},
		"app of nowhere":        {m: three(t), change: Change{Act: ActApp, Shard: 4, Endpoints: Endpoints{App: "https://b"}}, err: "there is no shard 4"},
		"app in no URL":         {m: three(t), change: Change{Act: ActApp, Shard: 2, Endpoints: Endpoints{App: "b:80"}}, err: `shard 2: its app "b:80" is not a URL such as https://host`},
		"app gone":              {m: apply(t, three(t), Change{Act: ActApp, Shard: 2, Endpoints: Endpoints{App: "https://b"}}), change: Change{Act: ActApp, Shard: 2}, said: "shard 2 has no app any more"},
		"add with no URL":       {m: Alone(home), change: Change{Act: ActAdd, Name: "b", Endpoints: Endpoints{Hub: "b", Database: "b", App: "https://u:p@b"}}, err: `shard "b" can't be added: its app "https://u:p@b" is not a URL such as https://host`},
		"weight of a closing 0": {m: three(t), change: Change{Act: ActWeight, Shard: 3}, said: "weight of shard 3 from 100 to 0"},
	} {
		before, _ := json.Marshal(c.m)
		next, said, err := c.m.Apply(c.change, noon, "ann", "because")
		if fmt.Sprint(err) != c.err && (err != nil || c.err != "") || said != c.said {
			t.Errorf("%s: %q, %v", name, said, err)
		}
		if after, _ := json.Marshal(c.m); string(after) != string(before) {
			t.Errorf("%s changed the map that others read", name)
		}
		switch {
		case err != nil:
			continue
		case (next == c.m) != c.so:
			t.Errorf("%s: already so: %v", name, next == c.m)
		case !c.so && (next.Version != c.m.Version+1 || next.History[len(next.History)-1] != Entry{next.Version, noon, "ann", "because", said}):
			t.Errorf("%s: version %d, history %+v", name, next.Version, next.History)
		}
		if err := next.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBoundsOfTheMap(t *testing.T) {
	m := apply(t, Alone(home), Change{Act: ActAdd, Name: "b", Endpoints: there("b"), Weight: 1})
	m.Pins = map[string]Number{}
	for i := range MaxPins {
		m.Pins[fmt.Sprintf("caller-%d", i)] = 1
	}
	if _, _, err := m.Apply(Change{Act: ActPin, Caller: "one-more", Shard: 1}, noon, "", ""); err == nil || !strings.Contains(err.Error(), "10000 pins") {
		t.Error(err)
	}
	m = apply(t, m, Change{Act: ActPin, Caller: "caller-7", Shard: 2}) // one that is there may move
	for i := range 3 * maxHistory {
		m = apply(t, m, Change{Act: ActWeight, Shard: 2, Weight: 2 + i%2})
	}
	if n := len(m.History); n != maxHistory || m.History[n-1].Version != m.Version || m.History[0].Version != m.Version-maxHistory+1 {
		t.Errorf("%d entries up to version %d of %d", n, m.History[n-1].Version, m.Version)
	}
}

func TestWrongMaps(t *testing.T) {
	for want, spoil := range map[string]func(*Map){
		"version -1 is below 0":                           func(m *Map) { m.Version = -1 },
		"shard 1 is missing":                              func(m *Map) { m.Shards = m.Shards[1:] },
		"no shard is open with a weight above 0":          func(m *Map) { m.Shards[0].Weight, m.Shards[1].State = 0, Closed },
		"shard 2 stands behind shard 2":                   func(m *Map) { m.Shards[2].Number = 2 },
		"shard 0: numbers begin with 1":                   func(m *Map) { m.Shards[0].Number = 0 },
		"shard 2: its hub is missing":                     func(m *Map) { m.Shards[1].Endpoints.Hub = "" },
		"shard 2: its database must not have spaces":      func(m *Map) { m.Shards[1].Endpoints.Database = "a b" },
		"shard 2: its address of its app must have up to": func(m *Map) { m.Shards[1].Endpoints.App = strings.Repeat("x", 257) },
		"shard 3: state \"gone\" is none of":              func(m *Map) { m.Shards[2].State = "gone" },
		"shards 1 and 2 have the same hub, requests":      func(m *Map) { m.Shards[1].Endpoints.Hub = "requests" },
		"caller \"ann\" is pinned to shard 9, which is":   func(m *Map) { m.Pins["ann"] = 9 },
		"the pinned caller \"\" is missing":               func(m *Map) { m.Pins[""] = 1 },
		"101 entries of history":                          func(m *Map) { m.History = make([]Entry, 101) },
		"1001 shards are more than 1000":                  func(m *Map) { m.Shards = append(m.Shards, make([]Shard, 998)...) },
		"10001 pins are more than 10000": func(m *Map) {
			for i := range MaxPins {
				m.Pins[fmt.Sprint(i)] = 1
			}
		},
	} {
		m := three(t)
		spoil(m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Ensure that callers go where they are pinned, if that is open, and the others by
// weight, and that what has refused is passed over.
func TestPlace(t *testing.T) {
	m := three(t)
	share := func(caller string, without ...Number) map[Number]int {
		of := map[Number]int{}
		const steps = 400
		for i := range uint64(steps) {
			n, ok := m.Place(caller, (2*i+1)*(math.MaxUint64/(2*steps)), without)
			if !ok {
				n = 0
			}
			of[n]++
		}
		return of
	}
	expect := func(what string, got, want map[Number]int) {
		t.Helper()
		if !maps.Equal(got, want) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("by weight", share("bob"), map[Number]int{1: 100, 2: 300})
	expect("pinned", share("ann"), map[Number]int{2: 400})
	expect("pinned to one that refused", share("ann", 2), map[Number]int{1: 400})
	expect("all refused", share("bob", 1, 2), map[Number]int{0: 400})
	m = apply(t, m, Change{Act: ActClose, Shard: 2})
	expect("pinned to a closing one", share("ann"), map[Number]int{1: 400})
	m = apply(t, m, Change{Act: ActOpen, Shard: 2}, Change{Act: ActWeight, Shard: 2})
	expect("pinned to one without a weight", share("ann"), map[Number]int{2: 400})
	expect("without a weight", share("bob"), map[Number]int{1: 400})
	if n, ok := Alone(home).Place("anyone", math.MaxUint64, nil); n != First || !ok {
		t.Errorf("alone: %d, %v", n, ok)
	}
	if n := testing.AllocsPerRun(100, func() { m.Place("ann", 1, nil) }); n != 0 {
		t.Errorf("a placement allocates %v times", n)
	}
}

func TestMapAsStored(t *testing.T) {
	m := three(t)
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again Map
	if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(&again, m) {
		t.Errorf("%v: %s", err, text)
	}
	type stored struct {
		Shard Number `json:"shard,omitzero"`
	}
	for n, want := range map[Number]string{0: `{}`, First: `{}`, 2: `{"shard":2}`} {
		text, err := json.Marshal(stored{n})
		var back stored
		if err = errors.Join(err, json.Unmarshal(text, &back)); err != nil || string(text) != want || back.Shard.OrFirst() != max(n, 1) {
			t.Errorf("%d is stored as %s: %v", n, text, err)
		}
	}
}
