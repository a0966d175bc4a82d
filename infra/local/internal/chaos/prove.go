package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/play"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// collectPause is between two looks at what is stored.
const collectPause = time.Second

// prove waits until all has come to rest and holds what is stored against what
// the clients know.
func (r *run) prove(ctx context.Context) (*Report, error) {
	watched, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		select {
		case <-r.tree.Failed():
			stop(r.died())
		case <-watched.Done():
		}
	}()
	report, err := r.judge(watched)
	if err != nil && ctx.Err() == nil && watched.Err() != nil {
		return nil, context.Cause(watched)
	}
	return report, err
}

func (r *run) judge(ctx context.Context) (*Report, error) {
	entries, torn, err := readLedger(r.paths.ledger)
	if err != nil {
		return nil, err
	}
	if torn {
		r.c.Notice("the ledger's last line is torn and does not count")
	}
	report := r.newReport()
	limited, cancel := context.WithDeadline(ctx, r.calmAt.Add(r.c.Settle))
	defer cancel()
	s := &settling{client: r.client, stuckFor: r.undoRefused}
	shown := time.Time{}
	err = s.wait(limited, entries, func(open int) {
		if time.Since(shown) >= lookEvery {
			shown = time.Now()
			r.noteLateDeaths()
			r.show(Settling, open)
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && !errors.Is(err, errNotSettled) {
		return nil, err
	}
	report.Settled, report.Settle = err == nil, time.Since(r.calmAt)
	// Then no call arrives any more that a fault has put off.
	if late := r.c.Faults.Longest(fault.BackendLate) + time.Second; r.c.Faults.Rates[fault.BackendLate] > 0 && !wait(ctx, late-time.Since(r.calmAt)) {
		return nil, ctx.Err()
	}
	if r.c.BeforeCheck != nil {
		if err := r.c.BeforeCheck(ctx, r.source()); err != nil {
			return nil, err
		}
	}
	snapshot, err := r.snapshot(ctx, limited, entries)
	if err != nil {
		return nil, err
	}
	if snapshot.Answers, err = r.answers(ctx, entries); err != nil {
		return nil, err
	}
	if err := errors.Join(r.faults.look(ctx, r.at.Admin), r.signs.look()); err != nil {
		return nil, err
	}
	r.fill(report, snapshot)
	if report.Settled && r.c.closes() {
		if err := r.closeForGood(ctx, report, entries); err != nil {
			return nil, err
		}
	}
	return report, nil
}

// noteLateDeaths takes the death of a handler that was under way when the faults
// ended for their end.
func (r *run) noteLateDeaths() {
	if r.crashes == nil {
		return
	}
	if deaths, err := r.crashes.look(); err == nil && deaths > 0 {
		r.calmAt = time.Now()
	}
}

func (r *run) undoRefused(transactionID string) bool {
	return fault.Chosen(r.c.Faults, fault.BackendUndoRefused, transactionID)
}

// snapshot collects what is stored, again until all of it is at rest or limited
// ends: what no client knows of takes its time as well.
func (r *run) snapshot(ctx, limited context.Context, entries []invariant.LedgerEntry) (invariant.Snapshot, error) {
	for {
		s, err := r.c.Subject.Collect(ctx, r.source())
		if err != nil {
			return s, fmt.Errorf("collect what is stored: %w", err)
		}
		s.Ledger, s.Poison, s.UndoRefused = entries, hashes(r.poison), map[string]bool{}
		s.Notifications = true
		if s.Ledgers, err = play.Ledgers(play.Folder(r.paths.data), r.c.Trial.Services); err != nil {
			return s, err
		}
		for i := range s.Transactions {
			if id := s.Transactions[i].ID; r.undoRefused(id) {
				s.UndoRefused[id] = true
			}
		}
		if atRest(s) || !wait(limited, collectPause) {
			return s, ctx.Err()
		}
	}
}

// lastEnd returns when the last transaction came to rest, by its own history.
func lastEnd(s invariant.Snapshot) time.Time {
	var last time.Time
	for i := range s.Transactions {
		if h := s.Transactions[i].History; len(h) > 0 && h[len(h)-1].At.After(last) {
			last = h[len(h)-1].At.Time
		}
	}
	return last
}

// fill puts the judgement into the report.
func (r *run) fill(report *Report, s invariant.Snapshot) {
	transactions := map[string]*workflow.Progress{}
	operations := map[string]workflow.OperationState{}
	for _, o := range s.Outside {
		operations[o.OperationID] = o.State
	}
	for i := range s.Transactions {
		p := &s.Transactions[i]
		transactions[p.ID] = p
		for _, o := range p.Operations {
			operations[o.ID] = o.State
		}
		for _, o := range p.Operations {
			if report.Operations[o.Kind] == nil {
				report.Operations[o.Kind] = map[workflow.OperationState]int{}
			}
			report.Operations[o.Kind][o.State]++
		}
	}
	if report.Settled { // looking takes longer than ending
		report.Settle = max(0, lastEnd(s).Sub(r.calmAt))
	}
	report.Clients = r.tally.clients()
	report.Faults = r.faults.counts()
	report.TreeKills, report.RecoveryKills = r.kills, r.recoveryKills
	if r.crashes != nil {
		report.Crashes = new(r.crashes.coverage())
	}
	report.Invariants = r.c.Subject.Check(s)
	sight := r.c.Subject.Sight(s)
	report.Breaks, report.Unbroken = sight.Breaks, sight.Unbroken
	state := func(id string) workflow.State {
		if p := transactions[id]; p != nil {
			return p.State
		}
		return ""
	}
	all := r.seen(report.Invariants.States[workflow.Completed])
	all.signs[Outside], all.signs[Pickups], all.signs[Lost] = len(s.Outside), r.c.Subject.PivotsMeanwhile(&s), lost(r.load.outcomes, state)
	if r.c.sharded() {
		in, changes := places(s), r.moves.all()
		all.signs[Pinned], all.signs[OldMap] = placements(r.load.outcomes, changes, in)
		all.signs[Moved], all.signs[Moves] = moved(r.load.outcomes, changes, in), len(changes)
		report.Shards = s.Placed()
		for n := 1; n <= r.c.Shards; n++ {
			all.shards = append(all.shards, report.Shards[numbered(n)])
		}
	}
	report.Bounds = slices.Concat(measure(r.bounds, all), r.c.unchecked(report.Invariants.Unchecked()), r.c.unbroken(report.Unbroken))
	report.Findings = slices.Concat([]Finding{}, r.load.findings, checkEnds(r.load.outcomes, transactions, r.undoRefused),
		checkCancels(r.load.cancels, state, func(operationID string) workflow.OperationState { return operations[operationID] }))
	for _, m := range sight.Missed {
		report.Findings = append(report.Findings, Finding{"the checker", "it is blind: broken on purpose and not found was " + m})
	}
	news, findings := r.news.check(s)
	report.News, report.Findings = news, append(report.Findings, findings...)
}
