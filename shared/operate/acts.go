package operate

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// MaxAtOnce is how many transactions or entries one request can name.
const MaxAtOnce = 500

// actsParallel is how many of them are acted on at the same time.
const actsParallel = 8

// Acts is an act on several transactions, or entries of the quarantine, which a list
// has shown.
type Acts struct {
	Act string // one of ActNames
	// IDs are the transactions', or of each entry its source, a slash and its id; 1 to
	// MaxAtOnce, none twice.
	IDs []string
	By  Actor
}

// ActNames are all acts for several at once.
var ActNames = []string{ActRetry, ActGiveUp, ActWake, string(quarantine.ActRedrive), string(quarantine.ActDrop)}

// ReadActs reads {act, ids, by, why}. The error is a *problem.Problem that lists all
// faults, those of 50 ids at most.
func ReadActs(body []byte) (Acts, error) {
	var b struct {
		Act *string   `json:"act"`
		IDs *[]string `json:"ids"`
		By  *string   `json:"by"`
		Why *string   `json:"why"`
	}
	faults, err := problem.DecodeAll(body, &b)
	if err != nil {
		return Acts{}, err
	}
	a := Acts{Act: faults.OneOf("/act", b.Act, ActNames, "")}
	if b.IDs != nil {
		a.IDs = *b.IDs
	}
	if n := len(a.IDs); n == 0 || n > MaxAtOnce {
		faults.Add("/ids", "must have 1 to %d ids, not %d", MaxAtOnce, n)
	} else {
		checkIDs(faults, a)
	}
	a.By, err = actorOf(faults, b.By, "/why", b.Why)
	return a, err
}

func checkIDs(faults *problem.Faults, a Acts) {
	first, wrong := map[string]int{}, 0
	for i, id := range a.IDs {
		pointer := fmt.Sprintf("/ids/%d", i)
		source, entry, isEntry := strings.Cut(id, "/")
		at, twice := first[id]
		switch {
		case twice:
			faults.Add(pointer, "is the same as /ids/%d", at)
		case a.onEntries() && !(isEntry && quarantine.ValidEntryID(source, entry)):
			faults.Add(pointer, "must be an entry's source, a slash and its id")
		case a.Act != "" && !a.onEntries() && !problem.ValidID(id):
			faults.Add(pointer, problem.IDRule)
		default:
			first[id] = i
			continue
		}
		if wrong++; wrong == 50 {
			return
		}
	}
}

func (a Acts) onEntries() bool {
	return a.Act == string(quarantine.ActRedrive) || a.Act == string(quarantine.ActDrop)
}

// Result is what has become of one transaction or entry by an act on several.
type Result struct {
	ID   string `json:"id"`   // as it was given
	Done bool   `json:"done"` // whether the act is on record
	// Repeated is as in Acted and EntryActed.
	Repeated bool   `json:"repeated"`
	State    string `json:"state,omitempty"` // how it stands, if that is known
	// Result is what came of the act, or why it was not done, for people.
	Result string `json:"result,omitempty"`
	// Shard is set for a transaction that isn't here: its number.
	Shard shard.Number `json:"shard,omitzero"`
}

// ActOnAll acts on several, some at a time, and answers for each in the order in which
// they were given: one that fails keeps no other from being done. It can be repeated as
// it is: what was done is then told as repeated.
func (s *Service) ActOnAll(ctx context.Context, a Acts) []Result {
	results := make([]Result, len(a.IDs))
	var group errgroup.Group
	group.SetLimit(actsParallel)
	for i, id := range a.IDs {
		group.Go(func() error {
			results[i] = s.actOn(ctx, a, id)
			return nil
		})
	}
	_ = group.Wait() // its functions return no error
	return results
}

func (s *Service) actOn(ctx context.Context, a Acts, id string) Result {
	if ctx.Err() != nil {
		return Result{ID: id, Result: "nothing was done: there was no time left for it; repeat the act"}
	}
	if a.onEntries() {
		do := s.Redrive
		if a.Act == string(quarantine.ActDrop) {
			do = s.Drop
		}
		source, entry, _ := strings.Cut(id, "/")
		acted, err := do(ctx, source, entry, a.By)
		if err != nil {
			return s.notDone(id, err)
		}
		return Result{ID: id, Done: true, Repeated: acted.Repeated, State: string(acted.Entry.State), Result: acted.Result}
	}
	do := map[string]func(context.Context, string, Actor) (Acted, error){ActRetry: s.Retry, ActGiveUp: s.GiveUp, ActWake: s.Wake}[a.Act]
	acted, err := do(ctx, id, a.By)
	if err = s.here(ctx, id, err); err != nil {
		return s.notDone(id, err)
	}
	return Result{ID: id, Done: true, Repeated: acted.Repeated, State: string(acted.State)}
}

// notDone tells why an act was not done, or that nobody knows whether it was.
func (s *Service) notDone(id string, err error) Result {
	r := Result{ID: id, Result: "nobody knows whether it was done: " + err.Error() + "; repeat the act"}
	var refused *RefusedError
	var p *problem.Problem
	switch {
	case errors.As(err, &refused):
		r.State, r.Result = refused.State, refused.Reason
	case errors.As(err, &p):
		r.Shard, _ = p.Extensions[ShardMember].(shard.Number)
		r.Result = p.Detail
	case failure.Is(err, failure.NotFound):
		r.Result = "nothing is known of it"
	}
	return r
}
