package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// TestSweepRelaysWhatTheTriggerHasSkipped has the trigger skip the last events
// of a partition, an hour ago.
func TestSweepRelaysWhatTheTriggerHasSkipped(t *testing.T) {
	w := newWorld(t)
	body := encode(t, engine.Envelope{TransactionID: "t-1", OperationID: "o-7", Operation: "cancel", AcceptedAt: time.Now()})
	w.producer.skipped = []relay.Event{{SequenceNumber: 7, Body: body, EnqueuedAt: w.now().Add(-time.Minute)}}
	if status := w.sweep(); status != http.StatusOK || w.queue.Sent() != 0 {
		t.Errorf("answered %d, %d messages in the queue, want that the trigger has two minutes", status, w.queue.Sent())
	}
	w.producer.skipped[0].EnqueuedAt = w.now().Add(-time.Hour)
	for range 2 {
		if status := w.sweep(); status != http.StatusOK || w.queue.Sent() != 1 || !w.queue.Has("o-7") {
			t.Errorf("answered %d, %d messages in the queue, want one\n%s", status, w.queue.Sent(), w.log)
		}
	}
	if c := w.checkpoints.kept["requests.relay.0"]; c.SequenceNumber != 7 {
		t.Errorf("checkpoint %+v, want the one that Relay itself uses", c)
	}
}

// Ensure that neither half of the timer's work keeps the other from being done.
func TestSweepWithoutTheHub(t *testing.T) {
	w := newWorld(t, "CALL_ATTEMPTS", "1")
	open := w.open()
	w.overdue(open.ID)
	sent := w.queue.Sent()
	w.producer.failReads.Store(true)
	if status := w.sweep(); status != http.StatusInternalServerError || w.queue.Sent() != sent+1 {
		t.Errorf("answered %d, sent %d messages, want one", status, w.queue.Sent()-sent)
	}
}

// TestBreakerStandsBeforeTheBackends holds the settings of the circuit breaker
// to what the steps' calls meet.
func TestBreakerStandsBeforeTheBackends(t *testing.T) {
	w := newWorld(t, "CALL_ATTEMPTS", "1", "BREAKER_MIN_CALLS", "3", "BREAKER_DELAY_SECONDS", "600")
	var last *workflow.Progress
	for range 4 {
		last = w.open()
	}
	if n := strings.Count(w.log.String(), `"backend":"account","duration.ms":0,"from":"closed","state":"open"`); n != 1 {
		t.Errorf("the log says %d times that the breaker has opened\n%s", n, w.log)
	}
	step := last.Step("account")
	if wait := last.WakeAt.Sub(w.now()); step.Effect != workflow.EffectNo || step.Error.Type != "open" || wait < 9*time.Minute {
		t.Errorf("step %+v with error %+v waits for %v", step, step.Error, wait)
	}
}
