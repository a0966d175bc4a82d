package infra_test

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var timingChecks = []check{{"times of the host", timesOfTheHost}, {"retry policies", retryPolicies}, {"batches", batches}, {"bindings", bindings}}

// hms reads a time span of host.json: hh:mm:ss.
func hms(text string) time.Duration {
	t, err := time.Parse("15:04:05", text)
	if err != nil {
		return -1
	}
	return t.Sub(t.Truncate(24 * time.Hour))
}

// timesOfTheHost: host.json says what the settings say, and the times fit into
// each other, in every app.
func timesOfTheHost(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		s, _, err := handlerSettings(a.settings)
		if err != nil {
			continue // settingsLoad says what is wrong
		}
		for _, time := range []struct {
			name, text, setting string
			want                time.Duration
		}{
			{"functionTimeout", w.host.FunctionTimeout, "FUNCTION_TIMEOUT_SECONDS", s.Budgets.FunctionTimeout},
			{"maxAutoLockRenewalDuration", w.host.Extensions.ServiceBus.MaxAutoLockRenewalDuration, "LOCK_RENEWAL_SECONDS", s.Budgets.LockRenewal},
			{"initializationTimeout", w.host.CustomHandler.InitializationTimeout, "the design", 30 * time.Second},
		} {
			if hms(time.text) != time.want {
				out = append(out, fmt.Sprintf("host.json has %s %s, and by %s of %s it is %v", time.name, time.text, time.setting, a.name, time.want))
			}
		}
		b := s.Budgets
		if !(b.Call < b.Step && b.Step < b.Invocation && b.Invocation < b.LockRenewal && b.LockRenewal <= b.FunctionTimeout && b.MessageLock <= b.LockRenewal) {
			out = append(out, fmt.Sprintf("%s: a call (%v), a step (%v), an invocation (%v), the renewal of a lock (%v) and the function timeout (%v) must grow",
				a.name, b.Call, b.Step, b.Invocation, b.LockRenewal, b.FunctionTimeout))
		}
		if w.host.Extensions.ServiceBus.MaxConcurrentCalls > s.EventConcurrency {
			out = append(out, fmt.Sprintf("the host runs %d messages at once, and EVENT_CONCURRENCY of %s is %d",
				w.host.Extensions.ServiceBus.MaxConcurrentCalls, a.name, s.EventConcurrency))
		}
	}
	if !w.host.CustomHandler.EnableProxyingHTTPRequest {
		out = append(out, "host.json does not proxy HTTP requests")
	}
	return out
}

// retryPolicies: complete, where they have an effect, and for ever where events
// would be lost otherwise (Microsoft Learn, "Azure Functions error handling and
// retries").
func retryPolicies(w *world) []string {
	var out []string
	for name, f := range w.functions {
		kind, r := f.text("type"), f.Retry
		switch {
		case r == nil && kind == "eventHubTrigger":
			out = append(out, fmt.Sprintf("%s has no retry policy: a batch that failed is skipped", name))
		case r == nil:
		case kind != "eventHubTrigger" && kind != "timerTrigger":
			out = append(out, fmt.Sprintf("%s has a retry policy, which has no effect on a %s", name, kind))
		case r.MaxRetryCount == nil:
			out = append(out, name+": the retry policy has no maxRetryCount")
		case kind == "eventHubTrigger" && *r.MaxRetryCount != -1:
			out = append(out, fmt.Sprintf("%s gives a batch up after %d retries", name, *r.MaxRetryCount))
		case r.Strategy == "exponentialBackoff" && (hms(r.MinimumInterval) <= 0 || hms(r.MaximumInterval) < hms(r.MinimumInterval)):
			out = append(out, fmt.Sprintf("%s: the retry policy waits from %q to %q", name, r.MinimumInterval, r.MaximumInterval))
		case r.Strategy == "fixedDelay" && hms(r.DelayInterval) <= 0:
			out = append(out, fmt.Sprintf("%s: the retry policy waits %q", name, r.DelayInterval))
		case r.Strategy != "exponentialBackoff" && r.Strategy != "fixedDelay":
			out = append(out, fmt.Sprintf("%s: there is no retry strategy %q", name, r.Strategy))
		}
	}
	return out
}

// Of a batch of events: the largest event (docs/openapi.yaml), how base64 makes
// it grow, and what the handler takes as the body of an invocation.
const (
	largestEvent   = 64 << 10
	maxInvocation  = 64 << 20
	hostBodyLimit  = 104_857_600 // Microsoft Learn, "Azure Functions HTTP trigger", limits
	base64PerThree = 4
)

// batches: the host's batches fit the handler, and no message waits locked.
func batches(w *world) []string {
	var out []string
	hubs := w.host.Extensions.EventHubs
	if hubs.MaxEventBatchSize < 1 || hubs.PrefetchCount < hubs.MaxEventBatchSize {
		out = append(out, fmt.Sprintf("host.json prefetches %d events for batches of %d", hubs.PrefetchCount, hubs.MaxEventBatchSize))
	}
	if size := hubs.MaxEventBatchSize * largestEvent * base64PerThree / 3; size > min(maxInvocation, hostBodyLimit) {
		out = append(out, fmt.Sprintf("a batch of %d of the largest events is %d bytes, and the handler takes %d", hubs.MaxEventBatchSize, size, maxInvocation))
	}
	if hubs.BatchCheckpointFrequency != 1 {
		out = append(out, "host.json checkpoints every "+fmt.Sprint(hubs.BatchCheckpointFrequency)+" batches: Relay's own checkpoint is of one")
	}
	if n := w.host.Extensions.ServiceBus.PrefetchCount; n != 0 {
		out = append(out, fmt.Sprintf("host.json prefetches %d messages: their locks run while they wait, and nothing renews them", n))
	}
	if b := w.host.ExtensionBundle; b.ID != "Microsoft.Azure.Functions.ExtensionBundle" || !strings.HasPrefix(b.Version, "[4.") {
		out = append(out, fmt.Sprintf("host.json names the extension bundle %s %s", b.ID, b.Version))
	}
	return out
}

// bindings: a function has one trigger, and messages come as the handler reads
// them: one message, a batch of events, unchanged bytes.
func bindings(w *world) []string {
	var out []string
	for name, f := range w.functions {
		cardinality := map[string]string{"serviceBusTrigger": "one", "eventHubTrigger": "many"}[f.text("type")]
		if f.trigger() == nil {
			out = append(out, name+" has no trigger")
		}
		if cardinality != "" && (f.text("cardinality") != cardinality || f.text("dataType") != "binary") {
			out = append(out, fmt.Sprintf("%s takes %s of %s; the handler reads %s of binary", name, f.text("cardinality"), f.text("dataType"), cardinality))
		}
		if f.text("type") == "httpTrigger" {
			want := "function"
			if slices.Contains([]string{"Live", "Ready", "Page"}, name) {
				want = "anonymous"
			}
			if f.text("authLevel") != want {
				out = append(out, fmt.Sprintf("%s has the level %s, not %s", name, f.text("authLevel"), want))
			}
		}
	}
	return out
}
