package baseline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
)

// receiverPlaces is how many messages a Receiver works on at once.
const receiverPlaces = 64

// Receiver takes messages from a queue and makes the calls of each, one after the
// other: PUT To/STEP/MessageID. Messages that are settled when they are sent (Delete) are gone with the process that
// has them; others are completed after their calls.
type Receiver struct {
	Connection, Queue, To string
	Steps                 []string
	Delete                bool
}

// Run receives until ctx ends, which is no error.
func (r Receiver) Run(ctx context.Context) error {
	client, err := azservicebus.NewClientFromConnectionString(r.Connection, nil)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close(context.WithoutCancel(ctx)) }() // the process ends
	options := &azservicebus.ReceiverOptions{}
	if r.Delete {
		options.ReceiveMode = azservicebus.ReceiveModeReceiveAndDelete
	}
	from, err := client.NewReceiverForQueue(r.Queue, options)
	if err != nil {
		return err
	}
	caller := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: receiverPlaces}}
	var working sync.WaitGroup
	defer working.Wait()
	places := make(chan struct{}, receiverPlaces)
	for ctx.Err() == nil {
		places <- struct{}{} // one is free
		messages, err := from.ReceiveMessages(ctx, receiverPlaces-len(places)+1, nil)
		<-places
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("receive: %w", err)
		}
		for _, m := range messages {
			places <- struct{}{}
			working.Go(func() {
				defer func() { <-places }()
				if err := r.call(ctx, caller, m.MessageID); err == nil && !r.Delete {
					_ = from.CompleteMessage(ctx, m, nil) // it comes again, then
				}
			})
		}
	}
	return nil
}

func (r Receiver) call(ctx context.Context, caller *http.Client, id string) error {
	for _, step := range r.Steps {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, r.To+"/"+step+"/"+id, nil)
		if err != nil {
			return err
		}
		resp, err := caller.Do(req)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, resp.Body)
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return err
		}
	}
	return nil
}
