package customhandler

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func checking(checks ...Check) func(context.Context) []Check {
	return func(context.Context) []Check { return checks }
}

// Ensure that what only a part of the requests needs takes nothing from the rest.
func TestReadinessOfAPart(t *testing.T) {
	down, up := func(context.Context) error { return errors.New("down") }, func(context.Context) error { return nil }
	for _, c := range []struct {
		all, part func(context.Context) error
		want      State
	}{{up, up, Ready}, {up, down, Degraded}, {down, up, Unready}, {down, down, Unready}} {
		checks := []Check{{Name: "shard2", Ask: c.part, Partial: true}, {Name: "cosmosDB", Ask: c.all}}
		for range 2 { // in both orders
			slices.Reverse(checks)
			if got, state := NewReadiness(checking(checks...), time.Now, slog.New(slog.DiscardHandler)).Ask(t.Context()); state != c.want || len(got) != 2 {
				t.Errorf("%v is %s, want %s", got, state, c.want)
			}
		}
	}
}

func TestReadinessIsKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var failing error
		h := NewReadiness(checking(
			Check{Name: "eventHubs", Ask: func(context.Context) error { asked++; return failing }},
			Check{Name: "cosmosDB", Ask: func(context.Context) error { return nil }},
		), time.Now, slog.New(slog.DiscardHandler))
		want := func(eventHubs string, times int) {
			t.Helper()
			got, _ := h.Ask(t.Context())
			if diff := cmp.Diff(map[string]string{"eventHubs": eventHubs, "cosmosDB": "ok"}, got); diff != "" || asked != times {
				t.Errorf("asked %d times (want %d), (-want +got):\n%s", asked, times, diff)
			}
		}
		want("ok", 1)
		failing = errors.New("down")
		<-time.After(ChecksHold - time.Millisecond)
		want("ok", 1)
		<-time.After(time.Millisecond)
		want("failed", 2)
		failing = nil
		want("failed", 2)
	})
}

func TestReadinessGivesUpOnASilentService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := NewReadiness(checking(Check{Name: "cosmosDB", Ask: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}), time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the caller who is gone doesn't count
		start := time.Now()
		if got, state := h.Ask(ctx); state != Unready || got["cosmosDB"] != "failed" || time.Since(start) != checkTime {
			t.Errorf("got %v after %v", got, time.Since(start))
		}
	})
}
