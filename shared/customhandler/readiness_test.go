package customhandler

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadinessIsKeptForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		var failing error
		h := NewReadiness([]Check{
			{"eventHubs", func(context.Context) error { asked++; return failing }},
			{"cosmosDB", func(context.Context) error { return nil }},
		}, time.Now, slog.New(slog.DiscardHandler))
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
		h := NewReadiness([]Check{{"cosmosDB", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}, time.Now, slog.New(slog.DiscardHandler))
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // the caller who is gone doesn't count
		start := time.Now()
		if got, ok := h.Ask(ctx); ok || got["cosmosDB"] != "failed" || time.Since(start) != checkTime {
			t.Errorf("got %v after %v", got, time.Since(start))
		}
	})
}
