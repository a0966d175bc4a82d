package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// listenLeast is the first wait before a listener that broke starts again.
const listenLeast = 500 * time.Millisecond

// closeTimeout bounds the end of connections and the last settlements.
const closeTimeout = 5 * time.Second

// eventHub is the listener of an Event Hubs trigger. Partitions are shared
// with the other instances, and each is served strictly in order.
type eventHub struct {
	host  *Host
	fn    *config.Function
	owned atomic.Pointer[ownerships] // of the processor that runs, or ran last
}

func (h *Host) newEventHub(f *config.Function) *eventHub { return &eventHub{host: h, fn: f} }

func (l *eventHub) function() *config.Function { return l.fn }

func (l *eventHub) run(ctx context.Context) {
	l.host.keepListening(ctx, l.fn, l.listen)
}

// keepListening repeats listen until ctx ends, with growing waits.
func (h *Host) keepListening(ctx context.Context, f *config.Function, listen func(context.Context) error) {
	most := h.cfg.ListenMost
	least := min(listenLeast, most)
	wait := least
	for ctx.Err() == nil {
		begin := h.cfg.Now()
		err := listen(ctx)
		if ctx.Err() != nil {
			return
		}
		if h.cfg.Now().Sub(begin) > most {
			wait = least
		}
		h.cfg.Logger.Error(fmt.Sprintf("The listener for function 'Functions.%s' stopped and starts again", f.Name), "trigger", string(f.Trigger.Kind),
			"entity", f.Trigger.Entity(), "connection", f.Trigger.Connection.Name, "in", wait, "error", err)
		if !sleep(ctx, wait) {
			return
		}
		wait = min(2*wait, most)
	}
}

// listen serves partitions until ctx ends or the processor fails.
func (l *eventHub) listen(ctx context.Context) error {
	t := l.fn.Trigger
	// Two functions on one hub and consumer group take partitions from each
	// other, as in the real host: each is an owner of its own.
	client, err := l.host.eventHubsClient(t, l.host.cfg.InstanceID+"/"+l.fn.Name)
	if err != nil {
		return fmt.Errorf("connect to the event hub: %w", err)
	}
	defer l.host.closing("event hub client", client.Close)
	owned := newOwnerships(l.host.cfg.Checkpoints)
	l.owned.Store(owned)
	processor, err := azeventhubs.NewProcessor(client, owned, l.processorOptions())
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			next := processor.NextPartitionClient(running)
			if next == nil {
				return
			}
			wg.Go(func() { l.newPartition(next, owned).run(running) })
		}
	})
	err = processor.Run(running)
	stop()
	wg.Wait()
	if err == nil {
		err = errors.New("the processor ended")
	}
	return err
}

func (l *eventHub) processorOptions() *azeventhubs.ProcessorOptions {
	c := l.host.app.Host.EventHubs
	o := &azeventhubs.ProcessorOptions{
		LoadBalancingStrategy:       azeventhubs.ProcessorStrategyGreedy,
		UpdateInterval:              cmp.Or(c.UpdateInterval, l.host.cfg.OwnershipUpdate),
		PartitionExpirationDuration: cmp.Or(c.Expiration, l.host.cfg.OwnershipExpiration),
		Prefetch:                    int32(c.Prefetch),
	}
	switch strings.ToLower(c.Start) {
	case "fromend":
		o.StartPositions.Default.Latest = to.Ptr(true)
	case "fromenqueuedtime":
		o.StartPositions.Default.EnqueuedTime = &c.StartTime
		o.StartPositions.Default.Inclusive = true
	default:
		o.StartPositions.Default.Earliest = to.Ptr(true)
	}
	return o
}

// closing runs a Close of an SDK with its own time limit and logs what fails.
func (h *Host) closing(what string, end func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if err := end(ctx); err != nil {
		h.cfg.Logger.Debug("close "+what, "error", err)
	}
}

func (l *eventHub) manual(input string) (payload.Invocation, error) {
	now := l.host.cfg.Now()
	e := &azeventhubs.ReceivedEventData{EventData: azeventhubs.EventData{Body: []byte(input)}, EnqueuedTime: &now}
	return l.invocation([]*azeventhubs.ReceivedEventData{e}, payload.PartitionContext{
		EventHubName: l.fn.Trigger.EventHubName, ConsumerGroup: l.fn.Trigger.ConsumerGroup,
	})
}

func (l *eventHub) invocation(events []*azeventhubs.ReceivedEventData, at payload.PartitionContext) (payload.Invocation, error) {
	t := l.fn.Trigger
	if t.Many {
		return payload.Events(t.Binding, t.DataType, events, at)
	}
	return payload.Event(t.Binding, t.DataType, events[0], at)
}
