package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/baseline"
)

// Settled is what a way to settle messages has come to in a round in which their
// receiver is killed in the middle, and another takes its place.
type Settled struct {
	Way  string `json:"way"`
	Sent int    `json:"sent"`
	// Lost are messages whose last call was never made, Half those of them whose first
	// one was. Again are calls that were made before.
	Lost  int `json:"lost"`
	Half  int `json:"half"`
	Again int `json:"again"`
	// Rate is how many were done a second until the kill, CPU what runtime and receiver
	// took for each of them.
	Rate float64       `json:"rate"`
	CPU  time.Duration `json:"cpuNanoseconds"`
	// Until is from the kill to the last that was done.
	Until time.Duration `json:"untilNanoseconds"`
}

// noFunctionsOfQueue leaves the queue to the receivers.
var noFunctionsOfQueue = map[string]string{"AzureWebJobs.Schedule.Disabled": "true", "AzureWebJobs.Sweep.Disabled": "true"}

// settlement is an experiment beside the product, which can only use PeekLock: to lose
// an accepted request is no choice that it has.
func (b *bench) settlement(ctx context.Context) (*Outcome, error) {
	o := &Outcome{}
	ways := []string{"PeekLock", "ReceiveAndDelete"}
	for n := range b.Rounds * len(ways) { // in turns
		way := ways[n%len(ways)]
		s, err := b.settledBy(ctx, way)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", way, err)
		}
		o.Settled = append(o.Settled, s)
		b.Notice(fmt.Sprintf("  %s: %.0f/s, %d lost of %d, %d of them half done, %d calls again", way, s.Rate, s.Lost, s.Sent, s.Half, s.Again))
	}
	return o, nil
}

func (b *bench) settledBy(ctx context.Context, way string) (s Settled, err error) {
	s = Settled{Way: way, Sent: b.Backlog}
	mock, err := b.mock(ctx, "-latency", b.Latency.String(), "-calls")
	if err != nil {
		return s, err
	}
	defer closing(mock, &err)
	app, err := b.Serve(ctx, noFunctionsOfQueue, "-profile", stoppedProfile)
	if err != nil {
		return s, err
	}
	defer closing(app, &err)
	if err := fill(ctx, app.at.ServiceBus, b.Backlog); err != nil {
		return s, err
	}
	receiver := func() (*Process, error) {
		return b.Baseline(ctx, "receiver", "-to", mock.URL, "-steps", strings.Join(b.Samples.Steps, ","), "-queue", settledQueue, "-connection", app.at.ServiceBus, "-delete="+strconv.FormatBool(way != "PeekLock"))
	}
	first, err := receiver()
	if err != nil {
		return s, err
	}
	defer closing(first, &err)
	begins, ends := b.Samples.Steps[0], b.Samples.Steps[len(b.Samples.Steps)-1]
	effort, err := scope{roots: []int{app.Pid(), first.Pid()}}.measure(func() (int, error) {
		told, err := b.done(ctx, mock, func(t baseline.Told) bool { return t.ByStep[ends] >= b.Backlog/2 })
		return told.ByStep[ends], errors.Join(err, first.Kill())
	})
	if err != nil {
		return s, err
	}
	s.Rate, s.CPU = effort.Rate(), effort.PerItem()
	killed := time.Now()
	second, err := receiver()
	if err != nil {
		return s, err
	}
	defer closing(second, &err)
	last, before := killed, baseline.Told{}
	told, err := b.done(ctx, mock, func(t baseline.Told) bool {
		if t.Different != before.Different || t.Again != before.Again {
			last, before = time.Now(), t
		}
		return time.Since(last) > settledRests
	})
	s.Lost, s.Half = b.Backlog-told.ByStep[ends], told.ByStep[begins]-told.ByStep[ends]
	s.Again, s.Until = told.Again, last.Sub(killed)
	return s, err
}

const (
	settledQueue = "transactions"
	// settledRests is for how long nothing comes when nothing is left: longer than a
	// lock of stoppedProfile, 5 s.
	settledRests = 8 * time.Second
)

// fill puts messages into the queue.
func fill(ctx context.Context, connection string, n int) error {
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }() // all is sent
	sender, err := client.NewSender(settledQueue, nil)
	if err != nil {
		return err
	}
	for sent := 0; sent < n; {
		batch, err := sender.NewMessageBatch(ctx, nil)
		if err != nil {
			return err
		}
		for ; sent < n && batch.NumMessages() < 500; sent++ {
			id := strconv.Itoa(sent)
			if err := batch.AddMessage(&azservicebus.Message{MessageID: &id, Body: []byte(id)}, nil); err != nil {
				return err
			}
		}
		if err := sender.SendMessageBatch(ctx, batch, nil); err != nil {
			return err
		}
	}
	return nil
}

// done asks the mock backend what it has got until that is enough.
func (b *bench) done(ctx context.Context, mock *Process, enough func(baseline.Told) bool) (told baseline.Told, err error) {
	tick := time.NewTicker(look / 10)
	defer tick.Stop()
	for {
		if err := ask(ctx, http.MethodGet, mock.URL+"/calls", &told); err != nil || enough(told) {
			return told, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return told, context.Cause(ctx)
		}
	}
}
