package host

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errWithheld is the failure of an attempt that is to be repeated until the
// host stops.
var errWithheld = errors.New("fault injection: the handler was not reached")

// repeats knows which batches of Event Hubs triggers are being repeated: their
// last attempt has failed, and the next one is to come. It is there for the
// sharp edge that AwaitRetry brings about. The zero value is ready for use.
type repeats struct {
	mu       sync.Mutex
	batches  int           // being repeated
	withheld bool          // attempts fail without a call of the handler
	forget   bool          // the end of the host checkpoints what is repeated
	begun    chan struct{} // closed when batches becomes positive; nil if nobody waits
}

// enter notes that a batch is being repeated, until leave is called.
func (r *repeats) enter() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
	if r.begun != nil {
		close(r.begun)
		r.begun = nil
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.batches--
	}
}

// admit returns an error for an attempt that is withheld from the handler.
func (r *repeats) admit() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.withheld {
		return errWithheld
	}
	return nil
}

// forgotten reports whether the end of the host checkpoints what is repeated.
func (r *repeats) forgotten() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.forget
}

// await returns nil once a batch is being repeated, and withholds all attempts from
// then on; after patience it withholds them until then as well. If ctx ends before,
// all is as it was.
func (r *repeats) await(ctx context.Context, patience time.Duration) error {
	over := time.NewTimer(patience)
	defer over.Stop()
	withhold := patience == 0
	for {
		r.mu.Lock()
		r.withheld = withhold
		if r.batches > 0 {
			r.withheld, r.forget = true, true
			r.mu.Unlock()
			return nil
		}
		if r.begun == nil {
			r.begun = make(chan struct{})
		}
		begun := r.begun
		r.mu.Unlock()
		select {
		case <-begun:
		case <-over.C:
			withhold = true
		case <-ctx.Done():
			r.mu.Lock()
			r.withheld = false
			r.mu.Unlock()
			return context.Cause(ctx)
		}
	}
}
