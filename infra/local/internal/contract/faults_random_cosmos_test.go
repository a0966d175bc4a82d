package contract

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/failure"
)

func cosmosFaults(seed uint64) fault.Plan {
	return fault.Plan{Seed: seed, SlowSeconds: 0.005, Rates: map[fault.Point]float64{
		fault.CosmosThrottle: 0.02, fault.CosmosUnavailable: 0.1, fault.CosmosTimeout: 0.02,
		fault.CosmosRace: 0.1, fault.CosmosAnswerLost: 0.1, fault.CosmosSlow: 0.05,
	}}
}

// TestCosmosUnderFaults has writers with documents of their own, who know after
// each operation what the document can be: what was acknowledged, or that with
// what may have come after it. Every read, and the end, is held against it.
func TestCosmosUnderFaults(t *testing.T) {
	t.Parallel()
	container, in := faultyContainer(t)
	faults := cosmosFaults(1)
	plan(t, in, faults)
	writers := make([]*writer, 8)
	var wg sync.WaitGroup
	for i := range writers {
		w := &writer{t: t, c: container, rnd: rand.New(rand.NewPCG(1, uint64(i))), docs: map[string]*known{}}
		for d := range 4 {
			w.docs[fmt.Sprintf("%d-%d", i, d)] = &known{values: map[string]bool{"": true}}
		}
		writers[i] = w
		wg.Go(func() {
			for n := range 250 {
				w.step(n)
			}
		})
	}
	wg.Wait()
	plan(t, in, fault.Plan{})
	wantEveryHit(t, in, faults)
	writes := 0
	for _, w := range writers {
		writes += w.acknowledged
		for id := range w.docs {
			w.read(id)
		}
	}
	t.Logf("%d writes acknowledged", writes)
}

// known is what is known of a document: the values that it may have, "" for
// none, and the tag that it had last, if that may still be.
type known struct {
	values map[string]bool
	etag   string
}

func (k *known) is(value, etag string) { k.values, k.etag = map[string]bool{value: true}, etag }

type writer struct {
	t            *testing.T
	c            *cosmosdb.Container
	rnd          *rand.Rand
	docs         map[string]*known
	acknowledged int
}

// step does one operation on one of the documents.
func (w *writer) step(n int) {
	ids := slices.Sorted(maps.Keys(w.docs))
	id := ids[w.rnd.IntN(len(ids))]
	k, value := w.docs[id], fmt.Sprint(n)
	ctx := context.Background()
	switch w.rnd.IntN(6) {
	case 0:
		w.read(id)
	case 1:
		etag, err := w.c.Create(ctx, id, id, document(id, value))
		w.wrote(id, value, etag, err)
	case 2:
		w.wrote(id, "", "", w.c.Delete(ctx, id, id))
	case 3:
		etag, err := w.c.Upsert(ctx, id, id, document(id, value))
		w.wrote(id, value, etag, err)
	default:
		if k.etag == "" {
			w.read(id)
		}
		if k.etag != "" {
			etag, err := w.c.Replace(ctx, id, id, document(id, value), k.etag)
			w.wrote(id, value, etag, err)
		}
	}
}

// wrote notes what an operation says about the document.
func (w *writer) wrote(id, value, etag string, err error) {
	k := w.docs[id]
	switch kind := failure.KindOf(err); {
	case err == nil:
		w.acknowledged++
		k.is(value, etag)
	case kind == failure.Conflict, kind == failure.NotFound:
		w.read(id) // nothing was done; another, or this client before, was there
	default:
		k.values[value], k.etag = true, ""
	}
}

// read learns what the document is, which must be one of what it can be.
func (w *writer) read(id string) {
	w.t.Helper()
	k := w.docs[id]
	for {
		doc, etag, err := w.c.Read(context.Background(), id, id)
		value := ""
		switch {
		case err == nil:
			value = valueOf(w.t, doc)
		case failure.Is(err, failure.NotFound):
			etag = ""
		default:
			continue
		}
		if !k.values[value] {
			w.t.Errorf("document %s is %q, can be one of %v", id, value, k.values)
		}
		k.is(value, etag)
		return
	}
}

// TestCosmosCountsUnderFaults has many add to the same documents under their
// tags: no acknowledged addition is lost, and none counts twice.
func TestCosmosCountsUnderFaults(t *testing.T) {
	t.Parallel()
	container, in := faultyContainer(t)
	const documents, adders, each = 3, 8, 60
	for d := range documents {
		id := fmt.Sprint(d)
		_, err := container.Create(t.Context(), id, id, document(id, "0"))
		must(t, "create", err)
	}
	plan(t, in, cosmosFaults(2))
	var acknowledged, unknown [documents]atomic.Int64
	var wg sync.WaitGroup
	for i := range adders {
		wg.Go(func() {
			for n := range each {
				d := (i + n) % documents
				switch add(t, container, fmt.Sprint(d)) {
				case nil:
					acknowledged[d].Add(1)
				default:
					unknown[d].Add(1)
				}
			}
		})
	}
	wg.Wait()
	plan(t, in, fault.Plan{})
	for d := range documents {
		id := fmt.Sprint(d)
		doc, _, err := container.Read(t.Context(), id, id)
		must(t, "read", err)
		var n int64
		if _, err := fmt.Sscan(valueOf(t, doc), &n); err != nil {
			t.Fatal(err)
		}
		least, most := acknowledged[d].Load(), acknowledged[d].Load()+unknown[d].Load()
		if n < least || n > most {
			t.Errorf("document %d counts %d, want %d to %d", d, n, least, most)
		}
		t.Logf("document %d counts %d, of %d to %d", d, n, least, most)
	}
}

// add counts one more in a document. An error says that it may have been done.
func add(t *testing.T, c *cosmosdb.Container, id string) error {
	for {
		doc, etag, err := c.Read(context.Background(), id, id)
		if err != nil {
			continue
		}
		var n int
		if _, err := fmt.Sscan(valueOf(t, doc), &n); err != nil {
			t.Error(err)
			return err
		}
		_, err = c.Replace(context.Background(), id, id, document(id, fmt.Sprint(n+1)), etag)
		if !failure.Is(err, failure.Conflict) {
			return err
		}
	}
}
