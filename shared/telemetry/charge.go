package telemetry

import (
	"context"
	"sync"
)

// Charge adds up what the operations of a context have cost, in request units. It
// is safe for concurrent use.
type Charge struct {
	mu    sync.Mutex
	units float64
}

type chargeKey struct{}

// WithCharge returns a context whose operations on Cosmos DB are added to a Charge.
func WithCharge(ctx context.Context) (context.Context, *Charge) {
	c := new(Charge)
	return context.WithValue(ctx, chargeKey{}, c), c
}

// AddCharge adds what an operation of the context has cost, if somebody wants to know.
func AddCharge(ctx context.Context, units float64) {
	if c, ok := ctx.Value(chargeKey{}).(*Charge); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.units += units
	}
}

// Units is the sum.
func (c *Charge) Units() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.units
}
