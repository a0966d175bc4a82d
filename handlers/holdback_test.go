package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// Ensure that the deliveries of a message last longer than a short outage.
func TestHoldBackGrowsWithTheDeliveries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outage := errors.New("outage")
		var total time.Duration
		for count := 1; count <= 10; count++ {
			number, err := json.Marshal(count)
			if err != nil {
				t.Fatal(err)
			}
			// The host writes numbers as strings.
			text, err := json.Marshal(string(number))
			if err != nil {
				t.Fatal(err)
			}
			i := &customhandler.Invocation{Metadata: customhandler.Metadata{"DeliveryCount": text}}
			begun := time.Now()
			if err := new(App).holdBack(t.Context(), i, outage); !errors.Is(err, outage) {
				t.Errorf("returned %v", err)
			}
			total += time.Since(begun)
		}
		if total < 20*time.Second || total > time.Minute {
			t.Errorf("10 deliveries take %v, want 20 s to a minute", total)
		}

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begun := time.Now()
		i := &customhandler.Invocation{Metadata: customhandler.Metadata{"DeliveryCount": json.RawMessage(`"9"`)}}
		if err := new(App).holdBack(ctx, i, outage); !errors.Is(err, outage) || time.Since(begun) > 0 {
			t.Errorf("a cancelled one took %v and returned %v", time.Since(begun), err)
		}
	})
}

// Ensure that the functions of queues and of their dead letters don't fail at
// full speed.
func TestFailuresOfMessagesAreHeldBack(t *testing.T) {
	for _, name := range []string{"Schedule", "Supervise", "DeadLetterTransactions", "DeadLetterCompensations"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.down.Store(true)
			data := json.RawMessage(`"bm90IGFuIGVudmVsb3Bl"`)
			i := &customhandler.Invocation{Data: map[string]json.RawMessage{"message": data}, Metadata: customhandler.Metadata{
				"SequenceNumber": json.RawMessage(`"1"`), "DeliveryCount": json.RawMessage(`"3"`)}}
			at := slices.IndexFunc(w.app.functions, func(f function) bool { return f.name == name })
			begun := time.Now()
			err := w.app.functions[at].event(t.Context(), i)
			if took := time.Since(begun); err == nil || took < failures.Delay(3) {
				t.Errorf("returned %v after %v", err, took)
			}
		})
	}
}

// Ensure that the settings' rules allow for the margin that the runner takes.
func TestClockMarginIsTheRunners(t *testing.T) {
	if settings.ClockMargin != engine.LeaseMargin {
		t.Errorf("settings allow for %v, the runner takes %v", settings.ClockMargin, engine.LeaseMargin)
	}
}
