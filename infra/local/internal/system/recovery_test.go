package system

import (
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Ensure that every wait is in the bound, with the weight that it has in the
// chain.
func TestRecoveryAddsUpItsWaits(t *testing.T) {
	type input struct {
		s    settings.Settings
		host config.Host
		t    host.Timings
	}
	bound := func(change func(*input)) Recovery {
		t.Helper()
		in := input{t: host.Timings{TimerLease: 3 * time.Second, RetryMost: 2 * time.Second}}
		in.s.SweepSchedule, in.s.RelayQuiet = "*/5 * * * * *", 40*time.Second
		in.s.Budgets = settings.Budgets{
			MessageLock: 10 * time.Second, Lease: 20 * time.Second, LaterMax: 2 * time.Second, Invocation: 3 * time.Second,
		}
		in.s.Backends.Breaker.Delay = 4 * time.Second
		change(&in)
		functions := []config.Function{{Trigger: config.Trigger{Kind: config.EventHub}, Retry: &config.Retry{Max: time.Minute}}}
		r, err := recovery(in.s, in.host, functions, in.t)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// start + lease and margin + grace + timer + schedule + later + breaker + runs
	const transaction = 5 + 25 + 15 + 4 + 5 + 2 + 5 + 6
	// start + quiet + timer + schedule + runs
	const event = 5 + 40 + 4 + 5 + 6
	base := bound(func(*input) {})
	if got := sum(base.Transaction); got != transaction*time.Second {
		t.Errorf("transaction: %v of %+v, want %d s", got, base.Transaction, transaction)
	}
	if got := sum(base.Event); got != event*time.Second {
		t.Errorf("event: %v of %+v, want %d s", got, base.Event, event)
	}
	if base.Total() != transaction*time.Second {
		t.Errorf("total %v, want the longer chain", base.Total())
	}
	for name, c := range map[string]struct {
		change             func(*input)
		transaction, event time.Duration // more than before
	}{
		"lock below the lease": {func(in *input) { in.s.Budgets.MessageLock += 15 * time.Second }, 0, 0},
		"lock above the lease": {func(in *input) { in.s.Budgets.MessageLock = 35 * time.Second }, 10 * time.Second, 0},
		"lease":                {func(in *input) { in.s.Budgets.Lease += time.Second }, time.Second, 0},
		"later":                {func(in *input) { in.s.Budgets.LaterMax += time.Second }, time.Second, 0},
		"invocation":           {func(in *input) { in.s.Budgets.Invocation += time.Second }, 2 * time.Second, 2 * time.Second},
		"breaker":              {func(in *input) { in.s.Backends.Breaker.Delay += 4 * time.Second }, 5 * time.Second, 0},
		"schedule":             {func(in *input) { in.s.SweepSchedule = "0 */1 * * * *" }, 55 * time.Second, 55 * time.Second},
		"timer":                {func(in *input) { in.t.TimerLease += 3 * time.Second }, 4 * time.Second, 4 * time.Second},
		"quiet":                {func(in *input) { in.s.RelayQuiet += time.Second }, 0, time.Second},
		// 1.3 s for the ownership's update, 15 s for the listener: now this is
		// longer than the wait for a quiet partition.
		"expiration": {func(in *input) { in.host.EventHubs.Expiration = 60 * time.Second }, 0, (78300 - 49000) * time.Millisecond},
		"retries": {func(in *input) {
			in.host.EventHubs.Expiration, in.t.RetryMost = 60*time.Second, 0
		}, 0, (136300 - 49000) * time.Millisecond},
		"update": {func(in *input) {
			in.host.EventHubs.Expiration, in.host.EventHubs.UpdateInterval = 60*time.Second, 10*time.Second
		}, 0, (90000 - 49000) * time.Millisecond},
		"listener": {func(in *input) {
			in.host.EventHubs.Expiration, in.t.ListenMost = 60*time.Second, 20*time.Second
		}, 0, (83300 - 49000) * time.Millisecond},
	} {
		got := bound(c.change)
		if more := sum(got.Transaction) - sum(base.Transaction); more != c.transaction {
			t.Errorf("%s: transactions take %v more, want %v", name, more, c.transaction)
		}
		if more := sum(got.Event) - sum(base.Event); more != c.event {
			t.Errorf("%s: events take %v more, want %v", name, more, c.event)
		}
	}
}
