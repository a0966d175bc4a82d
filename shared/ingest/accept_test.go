package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var noon = time.Date(2030, 5, 6, 12, 0, 0, 0, time.UTC)

// bench is a Service on fakes, with ids that can be foretold: the n-th minted
// id is "m-n".
type bench struct {
	*Service
	log          *fakeLog
	requests     *fakeRequests
	transactions *fakeTransactions
	mint         *fakeMint
	now          time.Time
}

func newBench() *bench {
	b := &bench{
		log: &fakeLog{}, requests: newFakeRequests(), mint: &fakeMint{}, now: noon,
		transactions: &fakeTransactions{documents: map[string]*workflow.Progress{}},
	}
	b.Service = New(Config{
		Known: Known{
			Shards:   oneShard(Stamp{Log: b.log, Transactions: b.transactions}),
			Requests: b.requests, Retention: 24 * time.Hour, Now: func() time.Time { return b.now },
			Mint: b.mint,
		},
		Past: func(p *workflow.Progress, kind workflow.OperationKind, _ time.Time) (string, bool) {
			return "too late for a " + string(kind), p.State.Final()
		},
		Now: func() time.Time { return b.now },
	})
	return b
}

func input(body string) Input {
	in := Input{Caller: "ann", TraceParent: "00-1-2-01"}
	if body != "" {
		in.Body = json.RawMessage(body)
	}
	return in
}

// sent decodes the events that were taken.
func (b *bench) sent(t *testing.T) []engine.Envelope {
	t.Helper()
	var out []engine.Envelope
	for _, e := range b.log.events {
		envelope, err := engine.Decode(e.Body)
		if err != nil {
			t.Fatal(err)
		}
		if e.TransactionID != envelope.TransactionID || e.TraceParent != envelope.TraceParent {
			t.Errorf("event %+v does not go with its envelope", e)
		}
		out = append(out, envelope)
	}
	return out
}

func want[T any](t *testing.T, got T, err error, want T) {
	t.Helper()
	if err != nil {
		t.Fatalf("got error %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
}

func TestPostMintsTheID(t *testing.T) {
	b := newBench()
	b.requests.fail["create"] = errors.New("must not be asked")
	b.transactions.fail = errors.New("must not be asked")
	r, err := b.Post(t.Context(), input(`{"a":1}`), "")
	want(t, r, err, Result{TransactionID: "m-1", OperationID: "m-2"})
	want(t, b.sent(t), nil, []engine.Envelope{{
		Schema: engine.EnvelopeSchema, TransactionID: "m-1", OperationID: "m-2", Operation: "start",
		AcceptedAt: noon, Caller: "ann", TraceParent: "00-1-2-01", Body: json.RawMessage(`{"a":1}`),
	}})
}

func TestPostWithKey(t *testing.T) {
	b := newBench()
	first, err := b.Post(t.Context(), input(`{"a":1}`), "order-7")
	want(t, first, err, Result{TransactionID: "m-1", OperationID: "m-2"})
	kept, ok := b.requests.kept["key:"+keyID("ann", "order-7")]
	if !ok || len(b.requests.kept) != 1 || kept.TransactionID != "m-1" {
		t.Errorf("kept: %+v", b.requests.kept)
	}
}

func TestRepeatGetsTheSameIDsAndIsSentAgain(t *testing.T) {
	operations := map[string]func(b *bench) (Result, error){
		"post":   func(b *bench) (Result, error) { return b.Post(t.Context(), input(`{"a":1}`), "key") },
		"put":    func(b *bench) (Result, error) { return b.Put(t.Context(), "id", input(`{"a":1}`)) },
		"patch":  func(b *bench) (Result, error) { return b.Patch(t.Context(), "m-9", input(`{"a":1}`), "key") },
		"delete": func(b *bench) (Result, error) { return b.Delete(t.Context(), "m-9", input(""), "key") },
	}
	for name, operation := range operations {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			first, err := operation(b)
			if err != nil || first.Repeated {
				t.Fatalf("first: %+v, %v", first, err)
			}
			b.now = noon.Add(time.Hour)
			second, err := operation(b)
			first.Repeated = true
			want(t, second, err, first)
			sent := b.sent(t)
			if len(sent) != 2 {
				t.Fatalf("%d events, want the first and its repeat", len(sent))
			}
			if diff := cmp.Diff(sent[0], sent[1]); diff != "" {
				t.Errorf("the repeat's event is another (-first +second):\n%s", diff)
			}
		})
	}
}

func TestOtherContent(t *testing.T) {
	b := newBench()
	ctx := t.Context()
	for _, accept := range []func() error{
		func() error { _, err := b.Post(ctx, input(`{"a":1}`), "key"); return err },
		func() error { _, err := b.Put(ctx, "id", input(`{"a":1}`)); return err },
		func() error { _, err := b.Patch(ctx, "id", input(`{"a":1}`), "patch"); return err },
	} {
		if err := accept(); err != nil {
			t.Fatal(err)
		}
	}
	sent := len(b.log.events)
	cases := []struct {
		name   string
		repeat func() (Result, error)
		want   error
	}{
		{"post", func() (Result, error) { return b.Post(ctx, input(`{"a":2}`), "key") }, ErrKeyReused},
		{"put", func() (Result, error) { return b.Put(ctx, "id", input(`{"a":2}`)) }, ErrOtherContent},
		{"patch", func() (Result, error) { return b.Patch(ctx, "id", input(`{"a":2}`), "patch") }, ErrKeyReused},
		{"patch of another", func() (Result, error) { return b.Patch(ctx, "m-9", input(`{"a":1}`), "patch") }, ErrKeyReused},
		{"delete with a patch's key", func() (Result, error) { return b.Delete(ctx, "id", input(""), "patch") }, ErrKeyReused},
		{"patch with a post's key", func() (Result, error) { return b.Patch(ctx, "id", input(`{"a":1}`), "key") }, ErrKeyReused},
	}
	for _, c := range cases {
		if _, err := c.repeat(); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if len(b.log.events) != sent {
		t.Errorf("a refused request was sent")
	}
	if !failure.Is(ErrOtherContent, failure.Conflict) || !failure.Is(ErrKeyReused, failure.Invalid) {
		t.Error("the refusals have other kinds")
	}
}

func TestKeysBelongToTheirCaller(t *testing.T) {
	b := newBench()
	in := input(`{"a":1}`)
	ann, err := b.Post(t.Context(), in, "key")
	if err != nil {
		t.Fatal(err)
	}
	in.Caller, in.Body = "bob", json.RawMessage(`{"a":2}`)
	bob, err := b.Post(t.Context(), in, "key")
	if err != nil || bob.TransactionID == ann.TransactionID {
		t.Errorf("bob's key gave %+v, %v; ann's %+v", bob, err, ann)
	}
}

// Ensure that a client that repeats a Post under the id that it was given is
// answered 202, whatever was asked of the transaction in between.
func TestPutOfAPostThatWasNotAcknowledged(t *testing.T) {
	const body = `{"a":1,"b":2}`
	// stored is a document whose delivery came with the given content; "" is
	// that of an older version, which did not keep what it was.
	stored := func(revision int, request, content string) *workflow.Progress {
		delivery := workflow.OperationRecord{ID: "m-10", Kind: workflow.OperationStart}
		if content != "" {
			delivery.Hash = workflow.Hash(workflow.OperationStart, "m-9", []byte(content))
		}
		return &workflow.Progress{
			ID: "m-9", State: workflow.Running, Revision: revision, Request: json.RawMessage(request),
			Operations: []workflow.OperationRecord{delivery, {ID: "m-11", Kind: workflow.OperationReschedule}},
		}
	}
	early := func(state workflow.State, kind workflow.OperationKind) *workflow.Progress {
		return &workflow.Progress{ID: "m-9", State: state, Revision: 1, Operations: []workflow.OperationRecord{{ID: "m-11", Kind: kind, Caller: "ann"}}}
	}
	fresh, repeated := Result{TransactionID: "m-9", OperationID: "m-1"}, Result{TransactionID: "m-9", OperationID: "m-10", Repeated: true}
	cases := []struct {
		name   string
		p      *workflow.Progress
		result Result
		err    error
	}{
		{"the event is not there yet", nil, fresh, nil},
		{"a reschedule was faster", early(workflow.Accepted, workflow.OperationReschedule), fresh, nil},
		{"a cancel was faster", early(workflow.Cancelled, workflow.OperationCancel), fresh, nil},
		{"same", stored(1, body, body), repeated, nil},
		{"same, changed since", stored(3, `{"a":9}`, body), repeated, nil},
		{"other", stored(1, `{"a":2}`, `{"a":2}`), Result{}, ErrOtherContent},
		{"other, changed to the same since", stored(2, body, `{"a":2}`), Result{}, ErrOtherContent},
		{"same, of an older version", stored(1, `{"b":2, "a":1.0}`, ""), repeated, nil},
		{"other, of an older version", stored(1, `{"a":2}`, ""), Result{}, ErrOtherContent},
		{"changed since, of an older version", stored(2, body, ""), Result{}, ErrOtherContent},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b := newBench()
			if c.p != nil {
				b.transactions.documents["m-9"] = c.p
			}
			r, err := b.Put(t.Context(), "m-9", input(body))
			if !errors.Is(err, c.err) || r != c.result {
				t.Errorf("got %+v, %v; want %+v, %v", r, err, c.result, c.err)
			}
			if _, kept := b.requests.kept["m-9"]; kept != (c.result == fresh) || kept != (len(b.log.events) == 1) {
				t.Errorf("request kept: %v, sent: %d", kept, len(b.log.events))
			}
		})
	}
}

// Ensure that who takes an id first does not keep away the one whose delivery it
// turns out to be.
func TestPutBesideAnothersRequest(t *testing.T) {
	b := newBench()
	in := input(`{"a":1}`)
	in.Caller = "bob"
	if _, err := b.Put(t.Context(), "m-9", in); err != nil {
		t.Fatal(err)
	}
	b.transactions.documents["m-9"] = &workflow.Progress{ID: "m-9", Caller: "ann", Revision: 1, Operations: []workflow.OperationRecord{
		{ID: "m-10", Kind: workflow.OperationStart, Hash: workflow.Hash(workflow.OperationStart, "m-9", []byte(`{"a":1}`))},
	}}
	r, err := b.Put(t.Context(), "m-9", input(`{"a":1}`))
	want(t, r, err, Result{TransactionID: "m-9", OperationID: "m-10", Repeated: true})
}

// Ensure that a repeat of what is on record is answered, and not sent: its event
// could outlive the document, and then be too old to be begun.
func TestRepeatOfWhatIsOnRecordIsNotSent(t *testing.T) {
	b := newBench()
	first, err := b.Put(t.Context(), "id", input(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Completed, Operations: []workflow.OperationRecord{
		{ID: first.OperationID, Kind: workflow.OperationStart},
	}}
	first.Repeated = true
	again, err := b.Put(t.Context(), "id", input(`{"a":1}`))
	want(t, again, err, first)
	if len(b.log.events) != 1 {
		t.Errorf("%d events", len(b.log.events))
	}
}

// Ensure that a request is kept as long as the documents of transactions.
func TestRequestsAreKeptAsLongAsDocuments(t *testing.T) {
	b := newBench()
	b.c.Known.Keep = 21 * 24 * time.Hour
	if _, err := b.Put(t.Context(), "id", input(`{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if got := b.requests.kept["id"].TTL; got != 21*24*60*60 {
		t.Errorf("it is kept for %d s", got)
	}
}

func TestPutOfAKnownTransaction(t *testing.T) {
	b := newBench()
	first, err := b.Put(t.Context(), "id", input(`{"a":1}`))
	if err != nil {
		t.Fatal(err)
	}
	b.transactions.documents["id"] = &workflow.Progress{ID: "id", State: workflow.Completed}
	first.Repeated = true
	again, err := b.Put(t.Context(), "id", input(`{"a":1}`))
	want(t, again, err, first)
	if _, err := b.Put(t.Context(), "id", input(`{"a":2}`)); !errors.Is(err, ErrOtherContent) {
		t.Errorf("other content: %v", err)
	}
}

func TestFailuresOfTheStores(t *testing.T) {
	down := failure.New(failure.Transient, "read", "", errors.New("down"))
	cases := map[string]struct {
		broken func(*bench)
		call   func(*bench) (Result, error)
	}{
		"post: create": {
			func(b *bench) { b.requests.fail["create"] = down },
			func(b *bench) (Result, error) { return b.Post(t.Context(), input(`{}`), "key") },
		},
		"post: look for the key": {
			func(b *bench) { b.requests.fail["read"] = down },
			func(b *bench) (Result, error) { return b.Post(t.Context(), input(`{}`), "key") },
		},
		"put: read transaction": {
			func(b *bench) { b.transactions.fail = down },
			func(b *bench) (Result, error) { return b.Put(t.Context(), "id", input(`{}`)) },
		},
		"put: read request": {
			func(b *bench) {
				b.transactions.documents["id"] = &workflow.Progress{ID: "id"}
				b.requests.fail["read"] = down
			},
			func(b *bench) (Result, error) { return b.Put(t.Context(), "id", input(`{}`)) },
		},
		"delete: read transaction": {
			func(b *bench) { b.transactions.fail = down },
			func(b *bench) (Result, error) { return b.Delete(t.Context(), "m-9", input(""), "") },
		},
		"delete with key: read request": {
			func(b *bench) { b.requests.fail["read"] = down },
			func(b *bench) (Result, error) { return b.Delete(t.Context(), "m-9", input(""), "key") },
		},
		"post: no random numbers": {
			func(b *bench) { b.mint.fail = down },
			func(b *bench) (Result, error) { return b.Post(t.Context(), input(`{}`), "") },
		},
		"delete: no random numbers": {
			func(b *bench) { b.mint.fail = down },
			func(b *bench) (Result, error) { return b.Delete(t.Context(), "m-9", input(""), "") },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			c.broken(b)
			if r, err := c.call(b); !errors.Is(err, down) || len(b.log.events) > 0 {
				t.Errorf("got %+v, %v, want the store's error and nothing sent", r, err)
			}
		})
	}
}

func TestUnacknowledgedNamesTheIDs(t *testing.T) {
	b := newBench()
	b.log.fail = fmt.Errorf("%w: time is up", ErrUnacknowledged)
	_, err := b.Post(t.Context(), input(`{}`), "")
	var unacknowledged *UnacknowledgedError
	if !errors.As(err, &unacknowledged) || !errors.Is(err, ErrUnacknowledged) || failure.RetryAfter(err) <= 0 {
		t.Fatalf("got %v, want an *UnacknowledgedError", err)
	}
	if unacknowledged.TransactionID != "m-1" || unacknowledged.OperationID != "m-2" {
		t.Errorf("got %+v", unacknowledged)
	}
	b.log.fail = ErrBusy
	if _, err := b.Post(t.Context(), input(`{}`), ""); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want ErrBusy", err)
	}
}

func TestBodyThatCantBeSent(t *testing.T) {
	b := newBench()
	if _, err := b.Post(t.Context(), input(""), ""); !failure.Is(err, failure.Invalid) {
		t.Errorf("post without a body: %v, want invalid", err)
	}
}
