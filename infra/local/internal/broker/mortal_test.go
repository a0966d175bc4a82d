package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// Ensure that a sender has no answer, also if it is dead, until its process is
// reaped and its link has ended.
func TestASendIsHeldUntilItsSenderIsGone(t *testing.T) {
	if os.Getenv("BROKER_TEST_LIVES") != "" {
		select {}
	}
	for _, ending := range []string{effect.Before, effect.Answer} {
		t.Run(ending, func(t *testing.T) {
			dir := t.TempDir()
			if err := (effect.Plan{Run: "0a1b2c3d", Points: map[string]int{"send.q" + ending: 1}}).Write(dir); err != nil {
				t.Fatal(err)
			}
			watch, err := effect.Open(dir, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer watch.Close()
			b, err := New(Config{KeyName: "k", Key: "k", Queues: []QueueConfig{{Name: "q"}}, Crashes: watch}, store.NewMemory(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := b.Close(); err != nil {
					t.Error(err)
				}
			}()
			sender := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASendIsHeldUntilItsSenderIsGone$")
			sender.Env = append(os.Environ(), "BROKER_TEST_LIVES=1")
			stdout, err := sender.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := sender.Start(); err != nil {
				t.Fatal(err)
			}
			ctx, unlink := context.WithCancel(t.Context())
			defer unlink()
			sink := &queueSink{q: b.queues["q"], client: b.mortal(ctx, amqp.ConnInfo{UserAgent: fmt.Sprintf("0a1b2c3d0001.%d azsdk", sender.Process.Pid)}, "q")}
			answers := make(chan error, 2)
			sink.Transfer(amqp.Transfer{Payload: []byte{0, 0x53, 0x75, 0xa0, 1, 'x'}}, func(err error) { answers <- err })
			none := func(when string) {
				t.Helper()
				select {
				case err := <-answers:
					t.Fatalf("answered %v %s", err, when)
				default:
				}
			}
			if _, err := io.ReadAll(stdout); err != nil { // until it is dead
				t.Fatal(err)
			}
			none("when its sender was not reaped")
			_ = sender.Wait() // it was killed
			none("when its link was there")
			unlink()
			if err := <-answers; !errors.Is(err, amqp.ErrCut) {
				t.Errorf("answered %v", err)
			}
			if want := map[string]int{effect.Before: 0, effect.Answer: 1}[ending]; b.Stats().Queues[0].Active != want {
				t.Errorf("%d messages, want %d", b.Stats().Queues[0].Active, want)
			}
		})
	}
}
