package operate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// From when on something is unusual.
const (
	failingShare   = 0.2  // of a step's attempts
	fullBuffer     = 0.8  // of an instance's writer
	refusedShare   = 0.01 // of the requests
	refusedSignIns = 1.0  // a second
	throttledShare = 0.1  // of the tries of operations on Cosmos DB
	lateUnread     = time.Minute
	lateRenewal    = 2 * time.Minute // a trigger that reads renews its claim within seconds
	lateWake       = 5 * time.Minute
	lateNotice     = 10 * time.Minute
	longUndo       = time.Hour
	longWait       = time.Hour
	surveyOutdated = 3 * time.Minute
)

// Headings are the paragraphs of docs/operations.md that Unusual.About names. Each is
// the key of an alert, too.
var Headings = []string{
	"breaker-open", "buffer", "dead-letters", "failing-functions", "lag", "notices", "oldest-waiting", "overload", "quarantine", "relay-stands",
	"sign-ins-refused", "stuck", "throttling", "undo-lasts", "undo-refused",
}

// unusual tells what somebody should know of a status, what can't wait first. What
// has no time of its own is unusual from now on.
func unusual(s *Status, steps []workflow.Step) []Unusual {
	out := []Unusual{}
	add := func(urgent bool, key, about string, since time.Time, says, do string) {
		if since.IsZero() {
			since = s.At
		}
		out = append(out, Unusual{Key: key, Says: says, Do: do, About: about, Since: since, Urgent: urgent})
	}
	for _, b := range s.Breakers {
		add(true, "breaker."+b.Backend, "breaker-open", b.Since,
			fmt.Sprintf("Calls to %s pause: the breaker is open in %s, since too many calls of %s have failed.", b.Backend, several(b.Instances, "instance"), stepsOf(s, steps, b.Backend)),
			fmt.Sprintf("Mend %s: transactions go on by themselves once it answers.", b.Backend))
	}
	for _, f := range s.Steps {
		known := slices.ContainsFunc(s.Breakers, func(b Breaker) bool { return b.Backend == f.Backend })
		if !known && f.FailedPerSecond > failingShare*f.PerSecond {
			add(false, "step."+f.Step, "breaker-open", time.Time{},
				fmt.Sprintf("%.0f %% of the calls of step %s to %s fail (%s), and are repeated.", 100*f.FailedPerSecond/f.PerSecond, f.Step, f.Backend, f.Error),
				fmt.Sprintf("Look at %s and its log; ops show tells the error of one transaction.", f.Backend))
		}
		if !f.UndoRefusedAt.IsZero() {
			add(true, "undo."+f.Step, "undo-refused", f.UndoRefusedAt,
				fmt.Sprintf("%s refuses the undo of step %s, or does not let it in: something stays that should be gone.", f.Backend, f.Step),
				fmt.Sprintf("Mend it at %s; ops list shows what is Stuck for it, and ops show the call.", f.Backend))
		}
	}
	a := s.Accepting
	if a.FailedPerSecond > 0 {
		add(true, "accept.failed", "throttling", time.Time{},
			fmt.Sprintf("The hub does not acknowledge %.1f requests a second: their clients get 503.", a.FailedPerSecond),
			"Look whether the hub throttles or is away.")
	}
	if a.RefusedPerSecond > refusedShare*a.PerSecond {
		add(true, "accept.refused", "overload", time.Time{},
			fmt.Sprintf("Instances are too busy for %.1f requests a second: their clients get 503.", a.RefusedPerSecond),
			"Add instances, or units of the hub if it throttles.")
	}
	if a.Fullest >= fullBuffer {
		add(true, "accept.buffer", "buffer", time.Time{},
			fmt.Sprintf("The buffer of an instance that accepts is %.0f %% full: what it can't take is refused.", 100*a.Fullest),
			"Add instances, or units of the hub if it throttles.")
	}
	if d := s.Database; d.ThrottledPerSecond > throttledShare*d.PerSecond {
		add(false, "database.throttled", "throttling", time.Time{},
			fmt.Sprintf("Cosmos DB throttles %.0f %% of the operations: they are repeated, and all is slow.", 100*d.ThrottledPerSecond/d.PerSecond),
			"Look at Requests, by status, for the container, and raise its maximum if it lasts.")
	}
	if s.SignInsRefused >= refusedSignIns {
		add(false, "sign-ins", "sign-ins-refused", time.Time{},
			fmt.Sprintf("Refused for their sign-in (401, 403): %.1f requests a second.", s.SignInsRefused),
			"A client has lost its role or its secret, or somebody tries; at LOG_LEVEL info the lines \"caller refused\" say why.")
	}
	if at := s.UnsentSince; !at.IsZero() {
		add(false, "relay.unsent", "lag", at,
			fmt.Sprintf("Service Bus has taken nothing from an instance for %s: Relay can't hand over, and wakes are late.", ago(s.At, at)),
			"Look whether Service Bus is there, and lets the app in; Ready names it. All goes on by itself.")
	}
	surveyed(s, add)
	slices.SortStableFunc(out, func(a, b Unusual) int {
		switch {
		case a.Urgent == b.Urgent:
			return a.Since.Compare(b.Since)
		case a.Urgent:
			return -1
		}
		return 1
	})
	return out
}

// surveyed adds what is unusual in what Sweep has found out.
func surveyed(s *Status, add func(urgent bool, key, about string, since time.Time, says, do string)) {
	v := s.Survey
	old := func(at time.Time, limit time.Duration) bool { return !at.IsZero() && s.At.Sub(at) > limit }
	switch {
	case v.At.IsZero():
		add(false, "survey.none", "failing-functions", v.At, "Sweep has not looked yet: there are no counts here.",
			"Wait for a minute after the first start; then look whether the function Sweep runs.")
	case old(v.At, surveyOutdated):
		add(true, "survey.old", "failing-functions", v.At, "Sweep has not looked for minutes: overdue transactions are not woken, and the counts here are old.",
			"Look whether the function Sweep runs and why it fails.")
	}
	for i, failed := range v.Failed {
		add(false, fmt.Sprintf("survey.%d", i), "failing-functions", time.Time{}, "Sweep could not find out all: "+failed+".", "The text says what is missing.")
	}
	if n := v.States[workflow.Stuck]; n.Count > 0 {
		add(true, "stuck", "stuck", time.Time{}, fmt.Sprintf("Waiting for an operator: %s.", n.of("Stuck transaction")), "ops list shows them; retry them or give them up.")
	}
	if n := v.States[workflow.Compensating]; old(n.OldestAt, longUndo) {
		add(false, "undo", "undo-lasts", time.Time{}, fmt.Sprintf("Being undone: %s, the oldest accepted %s ago: an undo lasts.", n.of("transaction"), ago(s.At, n.OldestAt)),
			"ops list -state Compensating shows them; ops show tells which undo fails.")
	}
	for _, state := range []workflow.State{workflow.Accepted, workflow.Running} {
		if n := v.States[state]; old(n.OldestAt, longWait) {
			add(false, "waiting."+string(state), "oldest-waiting", n.OldestAt.Add(longWait), fmt.Sprintf("Not finished: %s, the oldest accepted %s ago.", n.of(string(state)+" transaction"), ago(s.At, n.OldestAt)),
				"ops list -state open shows where each stands and its last error.")
		}
	}
	if n := v.Overdue; old(n.OldestAt, lateWake) {
		add(true, "overdue", "oldest-waiting", n.OldestAt.Add(lateWake), fmt.Sprintf("Nobody has answered the wakes of %s, the oldest for %s.", n.of("transaction"), ago(s.At, n.OldestAt)),
			"Look whether Schedule and Supervise run, and whether the queues are taken from.")
	}
	if n := v.Quarantine; n.Count > 0 {
		add(true, "quarantine", "quarantine", time.Time{}, fmt.Sprintf("Waiting for a decision in quarantine: %s.", n.of("message")), "ops quarantine shows them; redrive or drop them.")
	}
	if n := v.Notices; old(n.OldestAt, lateNotice) {
		add(false, "notices", "notices", n.OldestAt.Add(lateNotice), fmt.Sprintf("The notices of %s wait for their receiver, the oldest for %s.", n.of("transaction"), ago(s.At, n.OldestAt)),
			"Look whether the receiver of notices answers.")
	}
	for _, behind := range []struct {
		key, about, says, do string
		of                   behind
	}{
		{"relay.stands", "relay-stands", "Nobody reads", "Look whether Relay runs; ops partitions shows who reads.", behindIn(v, true, old)},
		{"relay.behind", "lag", "Relay is behind in", "Look whether Relay fails or is slow; a burst passes by itself.", behindIn(v, false, old)},
	} {
		if b := behind.of; b.partitions > 0 {
			add(behind.key == "relay.stands", behind.key, behind.about, b.oldest, fmt.Sprintf("%s %s; %s, the oldest waits for %s.",
				behind.says, several(b.partitions, "partition"), several(int(b.events), "event"), ago(s.At, b.oldest)), behind.do)
		}
	}
	for _, q := range v.Queues {
		if q.Dead > 0 {
			add(false, "dead."+q.Queue, "dead-letters", time.Time{}, fmt.Sprintf("Queue %s has %s that nobody takes.", q.Queue, several(int(q.Dead), "dead letter")), "Look whether the DeadLetter functions run.")
		}
	}
}

// behind is in how many partitions events wait for too long, how many, and since when.
type behind struct {
	partitions int
	events     int64
	oldest     time.Time
}

// behindIn counts the partitions behind that have no reader, or that have one.
func behindIn(v Survey, unread bool, old func(time.Time, time.Duration) bool) (b behind) {
	for _, p := range v.Partitions {
		gone := p.RenewedAt.IsZero() || v.At.Sub(p.RenewedAt) > lateRenewal
		if p.Lag == 0 || !old(p.OldestUnreadAt, lateUnread) || gone != unread {
			continue
		}
		b.partitions, b.events = b.partitions+1, b.events+p.Lag
		if b.oldest.IsZero() || p.OldestUnreadAt.Before(b.oldest) {
			b.oldest = p.OldestUnreadAt
		}
	}
	return b
}

// stepsOf names the steps that call a backend.
func stepsOf(s *Status, steps []workflow.Step, backend string) string {
	var names []string
	for _, f := range s.Steps {
		if f.Backend == backend {
			names = append(names, "step "+f.Step)
		}
	}
	if len(names) == 0 {
		return "its steps"
	}
	return strings.Join(names, ", ")
}

// Add counts one more, unless the limit is reached.
func (c *Count) Add(at time.Time, limit int) {
	if c.Count == limit {
		c.More = true
		return
	}
	c.Count++
	if c.OldestAt.IsZero() || !at.IsZero() && at.Before(c.OldestAt) {
		c.OldestAt = at
	}
}

// of says how many there are of something.
func (c Count) of(what string) string {
	if c.More {
		return fmt.Sprintf("more than %d %ss", c.Count, what)
	}
	return several(c.Count, what)
}

func several(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func ago(now, at time.Time) string { return now.Sub(at).Round(time.Second).String() }
