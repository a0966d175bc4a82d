package contract

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/quarantine/quarantinetest"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func adaptersKind(t *testing.T, what string, err error, kind failure.Kind) {
	t.Helper()
	if !failure.Is(err, kind) {
		t.Errorf("%s: got %v, want kind %v", what, err, kind)
	}
}

// adaptersPages collects all items of a paged list, which may have empty pages.
func adaptersPages[T any](t *testing.T, page func(continuation string) ([]T, string, error)) (items []T, pages int) {
	t.Helper()
	for next := ""; ; {
		part, n, err := page(next)
		if err != nil {
			t.Fatal(err)
		}
		items, pages, next = append(items, part...), pages+1, n
		if next == "" {
			return items, pages
		}
		if pages > 1000 {
			t.Fatal("the pages do not end")
		}
	}
}

func TestAdaptersTransactions(t *testing.T) {
	db := adaptersOpen(t)
	workflowtest.StoreSuite(t, func(t *testing.T) workflow.Store {
		s := cosmosdb.NewTransactions(db)
		return s
	})
}

// Ensure that the transactions are found by all that an operator asks for, and that
// what is found has what a list shows.
func TestAdaptersTransactionsAreFound(t *testing.T) {
	db := adaptersOpen(t)
	s := cosmosdb.NewTransactions(db)
	begun := time.Now().Truncate(time.Second)
	add := func(id string, state workflow.State, caller, parcel string) *workflow.Progress {
		p := workflowtest.FullProgress(id)
		p.State, p.Caller, p.TTL = state, caller, 0
		p.Request = json.RawMessage(`{"packageInfo":{"packageId":"` + parcel + `"}}`)
		if _, err := s.Create(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	stuck := add("t-0", workflow.Stuck, "ann", "p-1")
	add("t-1", workflow.Running, "ann", "p-2")
	add("t-2", workflow.Stuck, "bob", "p-1")
	for i, c := range []struct {
		where operate.Where
		want  string
	}{
		{operate.Where{}, "t-0 t-1 t-2"},
		{operate.Where{States: []workflow.State{workflow.Stuck}}, "t-0 t-2"},
		{operate.Where{States: []workflow.State{workflow.Stuck, workflow.Running}}, "t-0 t-1 t-2"},
		{operate.Where{Caller: "ann"}, "t-0 t-1"},
		{operate.Where{Caller: "ann", States: []workflow.State{workflow.Stuck, workflow.Completed}}, "t-0"},
		{operate.Where{Key: delivery.Business().Key, Value: "p-1"}, "t-0 t-2"},
		{operate.Where{Key: delivery.Business().Key, Value: "p"}, ""},
		{operate.Where{WrittenSince: begun}, "t-0 t-1 t-2"},
		{operate.Where{WrittenSince: time.Now().Add(time.Hour), Caller: "ann"}, ""},
	} {
		found, _ := adaptersPages(t, func(next string) ([]operate.Listed, string, error) { return s.Find(t.Context(), c.where, next) })
		slices.SortFunc(found, func(a, b operate.Listed) int { return strings.Compare(a.ID, b.ID) })
		var ids []string
		for _, one := range found {
			ids = append(ids, one.ID)
			if one.ChangedAt.Before(begun) || one.ChangedAt.After(time.Now()) {
				t.Errorf("%s was changed at %s, want after %s", one.ID, one.ChangedAt, begun)
			}
		}
		if got := strings.Join(ids, " "); got != c.want {
			t.Errorf("%d: found %q, want %q", i, got, c.want)
		}
		if i > 0 {
			continue
		}
		want := workflow.Progress{
			ID: stuck.ID, State: stuck.State, Cause: stuck.Cause, Reason: stuck.Reason, Caller: stuck.Caller, Revision: stuck.Revision,
			AcceptedAt: stuck.AcceptedAt, EndedAt: stuck.EndedAt, WakeAt: stuck.WakeAt, DeadLetters: stuck.DeadLetters,
			Steps: stuck.Steps, History: stuck.History,
		}
		if diff := cmp.Diff(want, found[0].Progress); diff != "" {
			t.Errorf("what was found (-want +got):\n%s", diff)
		}
	}
	_, _, err := s.Find(t.Context(), operate.Where{}, "of nobody")
	adaptersKind(t, "page of a continuation of nobody", err, failure.Invalid)
}

func TestAdaptersPing(t *testing.T) {
	connection := cosmosdb.Connection{ConnectionString: adaptersCosmos(t)}
	for database, ok := range map[string]bool{adaptersDatabase: true, "missing": false} {
		db, err := cosmosdb.Open(connection, cosmosdb.Options{Database: database})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := db.Ping(t.Context()); (err == nil) != ok {
			t.Errorf("ping of %s: %v", database, err)
		}
	}
}

func TestAdaptersRequests(t *testing.T) {
	s := cosmosdb.NewRequests(adaptersOpen(t))
	ctx := t.Context()
	_, err := s.Read(ctx, "t-1")
	adaptersKind(t, "read of none", err, failure.NotFound)
	first := ingest.RequestRecord{
		ID: "t-1", TransactionID: "t-1", OperationID: "o-1", Operation: workflow.OperationStart,
		Hash: "h", Caller: "ann", AcceptedAt: time.Date(2030, 5, 6, 12, 0, 0, 123e6, time.UTC),
	}
	second := first
	second.OperationID, second.Hash = "o-2", "other"
	for _, r := range []ingest.RequestRecord{first, second} {
		kept, err := s.CreateIfAbsent(ctx, r)
		kept.ETag = ""
		if diff := cmp.Diff(first, kept); err != nil || diff != "" {
			t.Errorf("create of %s: %v, kept (-want +got):\n%s", r.OperationID, err, diff)
		}
	}
	kept, err := s.Read(ctx, "t-1")
	second.ETag, second.Shard, second.KeptUntil = kept.ETag, 2, first.AcceptedAt
	if diff := cmp.Diff(first, kept, cmpopts.IgnoreFields(first, "ETag")); err != nil || diff != "" || kept.ETag == "" {
		t.Errorf("read: %v, (-want +got):\n%s", err, diff)
	}
	if err := s.Replace(ctx, second); err != nil {
		t.Fatal(err)
	}
	adaptersKind(t, "a write over another's", s.Replace(ctx, kept), failure.Conflict)
	kept.ID = "t-2"
	adaptersKind(t, "a write of what is not there", s.Replace(ctx, kept), failure.NotFound)
	kept, err = s.Read(ctx, "t-1")
	if diff := cmp.Diff(second, kept, cmpopts.IgnoreFields(first, "ETag")); err != nil || diff != "" {
		t.Errorf("read after a replace: %v, (-want +got):\n%s", err, diff)
	}
}

// What lasts is listed: what was accepted before a time, and is Stuck or being undone.
func TestAdaptersLasting(t *testing.T) {
	s := cosmosdb.NewTransactions(adaptersOpen(t))
	at := workflow.At(time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC))
	var want []string
	for _, state := range workflow.States {
		for name, accepted := range map[string]workflow.Instant{"old": workflow.At(at.Add(-time.Hour)), "new": at} {
			id := name + "-" + string(state)
			if _, err := s.Create(t.Context(), &workflow.Progress{ID: id, State: state, AcceptedAt: accepted}); err != nil {
				t.Fatal(err)
			}
			if name == "old" && (state == workflow.Stuck || state == workflow.Compensating) {
				want = append(want, id)
			}
		}
	}
	var got []string
	for next := ""; ; {
		page, more, err := s.Lasting(t.Context(), at, next)
		if err != nil {
			t.Fatal(err)
		}
		got, next = append(got, page...), more
		if next == "" {
			break
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(want, got) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAdaptersOutsideOperations(t *testing.T) {
	db := adaptersOpen(t)
	s := cosmosdb.NewOutsideOperations(db)
	requests := cosmosdb.NewRequests(db)
	ctx := t.Context()
	_, err := s.Read(ctx, "o-9")
	adaptersKind(t, "read of none", err, failure.NotFound)
	at := workflow.At(time.Date(2030, 5, 6, 12, 0, 0, 123e6, time.UTC))
	first := workflow.OutsideOperation{
		ID: workflow.OutsideID("o-9"), TransactionID: "t-9", OperationID: "o-9", Operation: workflow.OperationCancel, Hash: "h",
		Caller: "ann", AcceptedAt: at, State: workflow.OperationRefused, Reason: "no room", EndedAt: at, TTL: 3600,
	}
	second := first
	second.Reason = "another"
	for _, o := range []workflow.OutsideOperation{first, second} {
		if err := s.Create(ctx, o); err != nil {
			t.Fatalf("create: %v", err)
		}
	}
	kept, err := s.Read(ctx, "o-9")
	if diff := cmp.Diff(first, kept); err != nil || diff != "" {
		t.Errorf("read: %v, (-want +got):\n%s", err, diff)
	}
	_, err = requests.Read(ctx, "o-9") // an id that a client may take
	adaptersKind(t, "read of a request with that id", err, failure.NotFound)
	r, err := requests.Read(ctx, first.ID) // its fields are those of a request
	r.ETag = ""
	if want := (ingest.RequestRecord{
		ID: first.ID, TransactionID: "t-9", OperationID: "o-9", Operation: workflow.OperationCancel, Hash: "h", Caller: "ann", AcceptedAt: at.Time, TTL: 3600,
	}); err != nil || !cmp.Equal(want, r) {
		t.Errorf("as a request: %v, %s", err, cmp.Diff(want, r))
	}
}

func TestAdaptersQuarantine(t *testing.T) {
	quarantinetest.StoreSuite(t, func(t *testing.T) quarantine.Store {
		s := cosmosdb.NewQuarantine(adaptersOpen(t))
		return s
	})
}

// adaptersThing is a backend's document.
type adaptersThing struct {
	ID      string          `json:"id"`
	OwnerID string          `json:"ownerId"`
	Raw     json.RawMessage `json:"raw,omitempty"`
}

func TestAdaptersRecords(t *testing.T) {
	s := record.Over[adaptersThing](adaptersOpen(t).Container(delivery.DeliveriesContainer))
	ctx := t.Context()
	_, _, err := s.Read(ctx, "a")
	adaptersKind(t, "read of none", err, failure.NotFound)
	_, err = s.Replace(ctx, "a", adaptersThing{ID: "a"}, `"1"`)
	adaptersKind(t, "replace of none", err, failure.NotFound)

	thing := adaptersThing{ID: "a", OwnerID: "ann", Raw: json.RawMessage(`{"html":"<&>","n":12.50,"z":null,"a":[]}`)}
	etag, err := s.Create(ctx, "a", thing)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Create(ctx, "a", adaptersThing{ID: "a"})
	adaptersKind(t, "second create", err, failure.Conflict)
	got, read, err := s.Read(ctx, "a")
	if diff := cmp.Diff(thing, got); err != nil || diff != "" || read != etag || etag == "" {
		t.Errorf("read: %v, ETag %q of %q, (-want +got):\n%s", err, read, etag, diff)
	}

	thing.OwnerID = "bob"
	next, err := s.Replace(ctx, "a", thing, etag)
	if err != nil || next == etag {
		t.Fatalf("replace: ETag %q after %q, %v", next, etag, err)
	}
	_, err = s.Replace(ctx, "a", adaptersThing{ID: "a"}, etag)
	adaptersKind(t, "replace with the old ETag", err, failure.Conflict)
	if got, _, err := s.Read(ctx, "a"); err != nil || got.OwnerID != "bob" {
		t.Errorf("after a refused replace: %+v, %v", got, err)
	}
}

// A list of more than a page comes whole, through pages of several ranges.
func TestAdaptersRecordsInPages(t *testing.T) {
	s := record.Over[adaptersThing](adaptersOpen(t).Container(delivery.PackagesContainer))
	ctx := t.Context()
	want := map[string]bool{}
	for i := range cosmosdb.DefaultPage*2 + 20 {
		owner := []string{"ann", `o'brien "x"`}[i%2]
		id := fmt.Sprint("p-", i)
		raw := json.RawMessage(fmt.Sprintf("%q", id))
		if _, err := s.Create(ctx, id, adaptersThing{ID: id, OwnerID: owner, Raw: raw}); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			want[string(raw)] = true
		}
	}
	found, pages := adaptersPages(t, func(next string) ([]adaptersThing, string, error) {
		return s.Page(ctx, "ownerId", `o'brien "x"`, next)
	})
	_, _, err := s.Page(ctx, "ownerId", "ann", "of nobody")
	adaptersKind(t, "page of a continuation of nobody", err, failure.Invalid)
	if pages < 2 || len(found) != len(want) {
		t.Errorf("%d things in %d pages, want %d in several", len(found), pages, len(want))
	}
	for _, thing := range found {
		if !want[string(thing.Raw)] {
			t.Errorf("%s twice, or of another owner", thing.Raw)
		}
		delete(want, string(thing.Raw))
	}
}

func TestAdaptersDrones(t *testing.T) {
	s := drone.Over(adaptersOpen(t).Container(delivery.DronesContainer))
	ctx := t.Context()
	w := drone.Window{From: 1_900_000_000_123, Until: 1_900_000_060_123}
	held := func(from, until int64) []drone.Hold {
		return []drone.Hold{{TransactionID: "t-1", Window: drone.Window{From: from, Until: until}}}
	}
	fleet := []drone.Drone{
		{ID: "d-1", Zone: "north"},
		{ID: "d-2", Zone: "north", Holds: held(1, w.From), BusyUntil: w.From},
		{ID: "d-3", Zone: "north", Holds: held(w.Until, w.Until+1), BusyUntil: w.Until + 1, Gap: w.Until - w.From},
		{ID: "d-4", Zone: "north", Holds: held(w.From, w.From+1), BusyUntil: w.From + 1, Gap: w.Until - w.From - 1},
		{ID: "d-1", Zone: "south"},
	}
	for _, d := range fleet {
		if err := s.Create(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	adaptersKind(t, "second create", s.Create(ctx, fleet[0]), failure.Conflict)
	_, err := s.Read(ctx, "south", "d-2")
	adaptersKind(t, "read in another zone", err, failure.NotFound)

	free, _ := adaptersPages(t, func(next string) ([]drone.Versioned, string, error) { return s.Free(ctx, "north", w, "", next) })
	rest, _ := adaptersPages(t, func(next string) ([]drone.Versioned, string, error) { return s.Free(ctx, "north", w, "d-2", next) })
	all, _ := adaptersPages(t, func(next string) ([]drone.Versioned, string, error) { return s.Zone(ctx, "north", next) })
	_, _, err = s.Zone(ctx, "north", "of nobody")
	adaptersKind(t, "page of a continuation of nobody", err, failure.Invalid)
	for name, c := range map[string]struct {
		got  []drone.Versioned
		want []drone.Drone
	}{"free": {free, fleet[:3]}, "free from d-2 on": {rest, fleet[1:3]}, "all": {all, fleet[:4]}} {
		var drones []drone.Drone
		for _, v := range c.got {
			if v.ETag == "" {
				t.Errorf("%s: drone %s has no ETag", name, v.Drone.ID)
			}
			drones = append(drones, v.Drone)
		}
		slices.SortFunc(drones, func(a, b drone.Drone) int { return int(a.ID[2]) - int(b.ID[2]) })
		if diff := cmp.Diff(c.want, drones); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}

	// The ETag of a page is good for a replace, once.
	claimed := free[0].Drone
	claimed.Holds, claimed.BusyUntil = held(w.From, w.Until), w.Until
	if err := s.Replace(ctx, claimed, free[0].ETag); err != nil {
		t.Fatal(err)
	}
	adaptersKind(t, "replace with the old ETag", s.Replace(ctx, claimed, free[0].ETag), failure.Conflict)
	got, err := s.Read(ctx, "north", claimed.ID)
	if diff := cmp.Diff(claimed, got.Drone); err != nil || diff != "" {
		t.Errorf("read: %v, (-want +got):\n%s", err, diff)
	}
	missing := drone.Drone{ID: "d-9", Zone: "north"}
	adaptersKind(t, "replace of none", s.Replace(ctx, missing, `"1"`), failure.NotFound)
}

// A document of before drones had holds is read as one hold, and is among the
// free ones when that is over.
func TestAdaptersDronesOfBefore(t *testing.T) {
	db := adaptersOpen(t)
	s := drone.Over(db.Container(delivery.DronesContainer))
	c := db.Container(delivery.DronesContainer)
	const old = `{"id":"d-1","zone":"north","transactionId":"t-1","busyUntil":1900000000123}`
	if _, err := c.Create(t.Context(), "north", "d-1", []byte(old)); err != nil {
		t.Fatal(err)
	}
	want := []drone.Hold{{TransactionID: "t-1", Window: drone.Window{Until: 1_900_000_000_123}}}
	v, err := s.Read(t.Context(), "north", "d-1")
	if diff := cmp.Diff(want, v.Drone.Holds); err != nil || diff != "" || v.ETag == "" {
		t.Errorf("read: %v, ETag %q (-want +got):\n%s", err, v.ETag, diff)
	}
	for from, want := range map[int64]int{1_900_000_000_122: 0, 1_900_000_000_123: 1} {
		w := drone.Window{From: from, Until: from + 1000}
		free, _ := adaptersPages(t, func(next string) ([]drone.Versioned, string, error) {
			return s.Free(t.Context(), "north", w, "d-1", next)
		})
		if len(free) != want {
			t.Errorf("%d are free from %d, want %d", len(free), from, want)
		}
	}
}

func TestAdaptersCheckpoints(t *testing.T) {
	s := cosmosdb.NewCheckpoints(adaptersOpen(t))
	ctx := t.Context()
	c := relay.Checkpoint{ID: "hub.group.0", SequenceNumber: 1 << 52}
	_, _, err := s.Read(ctx, c.ID)
	adaptersKind(t, "read of none", err, failure.NotFound)
	first, err := s.Save(ctx, c, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Save(ctx, c, "")
	adaptersKind(t, "second create", err, failure.Conflict)
	c.SequenceNumber++
	second, err := s.Save(ctx, c, first)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Save(ctx, c, first)
	adaptersKind(t, "save with the old ETag", err, failure.Conflict)
	got, etag, err := s.Read(ctx, c.ID)
	if err != nil || got != c || etag != second {
		t.Errorf("read %+v with ETag %q, %v; want %+v with %q", got, etag, err, c, second)
	}
}

func TestAdaptersMissingContainerIsNoMissingDocument(t *testing.T) {
	s := record.Over[adaptersThing](adaptersOpen(t).Container("absent"))
	_, _, err := s.Read(t.Context(), "a")
	adaptersKind(t, "read", err, failure.Permanent)
	_, err = s.Create(t.Context(), "a", adaptersThing{ID: "a"})
	adaptersKind(t, "create", err, failure.Permanent)
}

func TestAdaptersUpsertAndDelete(t *testing.T) {
	c := adaptersOpen(t).Container(delivery.AccountsContainer)
	ctx := t.Context()
	for _, doc := range []string{`{"id":"a","n":1}`, `{"id":"a","n":2}`} {
		if etag, err := c.Upsert(ctx, "a", "a", []byte(doc)); err != nil || etag == "" {
			t.Fatalf("upsert: ETag %q, %v", etag, err)
		}
	}
	var got struct{ N int }
	doc, _, err := c.Read(ctx, "a", "a")
	if err != nil || json.Unmarshal(doc, &got) != nil || got.N != 2 {
		t.Errorf("read %s, %v", doc, err)
	}
	if err := c.Delete(ctx, "a", "a"); err != nil {
		t.Error(err)
	}
	adaptersKind(t, "second delete", c.Delete(ctx, "a", "a"), failure.NotFound)
	_, err = c.Create(ctx, "a", "a", []byte(`{"id":"a"`))
	adaptersKind(t, "create of no JSON", err, failure.Permanent)
	_, _, err = c.Page(ctx, business.Query{Text: "SELECT * FROM c ORDER BY c.n"})
	adaptersKind(t, "an ordered query across partitions", err, failure.Permanent)
}
