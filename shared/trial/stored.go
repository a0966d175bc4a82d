package trial

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Stored is what is stored at one moment, in no order, when the system has come to
// rest. It is plain data.
type Stored struct {
	// Now is the moment, for what goes by the clock.
	Now          time.Time
	Transactions []workflow.Progress
	// Records are the effects, by container. A record may lie beside another one (see
	// record.BesideOf).
	Records map[string][]record.Record[json.RawMessage]
	// Others are the documents of the business's other containers.
	Others map[string][]json.RawMessage
	// Ledgers are those of the trial's services, by name: each a JSON array of its
	// entries.
	Ledgers map[string]json.RawMessage
}

// Records returns the records of a container by id, with their contents read, but
// for those that lie beside another one.
func Records[T any](s *Stored, container string) (map[string]*record.Record[T], error) {
	all := make(map[string]*record.Record[T], len(s.Records[container]))
	for i := range s.Records[container] {
		r := &s.Records[container][i]
		if _, beside := record.BesideOf(r.ID); beside {
			continue
		}
		read := record.Record[T]{
			ID: r.ID, TransactionID: r.TransactionID, Revision: r.Revision, Hash: r.Hash, Account: r.Account,
			Journal: r.Journal, Tombstones: r.Tombstones, Beside: r.Beside, Needed: r.Needed, TTL: r.TTL,
		}
		if len(r.Content) > 0 {
			if err := json.Unmarshal(r.Content, &read.Content); err != nil {
				return nil, fmt.Errorf("read %s of %s: %w", r.ID, container, err)
			}
		}
		all[r.ID] = &read
	}
	return all, nil
}

// Others returns the documents of another container.
func Others[T any](s *Stored, container string) ([]T, error) {
	all := make([]T, len(s.Others[container]))
	for i, doc := range s.Others[container] {
		if err := json.Unmarshal(doc, &all[i]); err != nil {
			return nil, fmt.Errorf("read a document of %s: %w", container, err)
		}
	}
	return all, nil
}

// Sorted ranges over a map in the order of its keys, so that a report does not
// depend on chance.
func Sorted[K cmp.Ordered, V any](m map[K]V) iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			if !yield(key, m[key]) {
				return
			}
		}
	}
}
