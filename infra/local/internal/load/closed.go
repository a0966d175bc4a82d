package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Full sends as fast as the app answers: so many clients, each of which sends its
// next request when it has the answer to the one before. It goes on for a time, or
// until a number of requests is sent if that is not 0. What it measures is how
// much the app can take; its latencies leave out what waits, as every closed loop
// does.
func Full(ctx context.Context, clients, number int, lasts time.Duration, send Send) *Result {
	r := newRecord(false)
	var next atomic.Int64
	var sending sync.WaitGroup
	for range clients {
		sending.Go(func() {
			for ctx.Err() == nil {
				n := int(next.Add(1)) - 1
				at := time.Since(r.begun)
				if number > 0 && n >= number || number == 0 && at >= lasts {
					return
				}
				r.sent(at, 0)
				answer := send(ctx, n)
				r.count(at, time.Since(r.begun)-at, answer)
			}
		})
	}
	sending.Wait()
	r.answered(time.Since(r.begun))
	return r.result()
}
