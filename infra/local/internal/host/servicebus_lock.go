package host

import (
	"context"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// renewBefore is how long before a lock's end it is renewed, at most.
const renewBefore = 10 * time.Second

// keepLock renews a message's lock for up to maxAutoLockRenewalDuration, until
// stop is called; stop waits for it.
func (l *serviceBus) keepLock(r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) (stop func()) {
	limit := l.host.app.Host.ServiceBus.MaxLockRenewal
	if limit == 0 || msg.LockedUntil == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	if limit > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), limit)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.renew(ctx, r, msg)
	}()
	return func() { cancel(); <-done }
}

func (l *serviceBus) renew(ctx context.Context, r *azservicebus.Receiver, msg *azservicebus.ReceivedMessage) {
	for {
		left := msg.LockedUntil.Sub(l.host.cfg.Now())
		if !sleep(ctx, left-min(left/2, renewBefore)) {
			return
		}
		if err := r.RenewMessageLock(ctx, msg, nil); err != nil {
			if ctx.Err() == nil {
				l.host.cfg.Logger.Warn(fmt.Sprintf("Functions.%s: the lock could not be renewed; the message may come again while it is worked on", l.fn.Name),
					"messageId", msg.MessageID, "entity", l.fn.Trigger.Entity(), "error", err)
			}
			return
		}
	}
}
