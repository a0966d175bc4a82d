package broker

import (
	"context"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
)

// A mortal is a client that may be killed when something arrives that it sends
// over one link. Nil is one that never is.
type mortal struct {
	b             *Broker
	agent, effect string
	gone          <-chan struct{} // closed when the link has ended
}

// mortal returns what sends to an entity over a link, or a connection, that ends
// with ctx.
func (b *Broker) mortal(ctx context.Context, c amqp.ConnInfo, entity string) *mortal {
	if b.cfg.Crashes == nil {
		return nil
	}
	return &mortal{b, c.UserAgent, effect.Send(entity), ctx.Done()}
}

// send runs what stores something, unless its sender dies before that or behind
// it, but not behind what turned out to change nothing; changed is nil for what
// always does.
func (m *mortal) send(changed *bool, run func(done func(error)), done func(error)) {
	if m == nil {
		run(done)
		return
	}
	if m.dies(effect.Before, done) {
		return
	}
	run(func(err error) {
		if err != nil || changed != nil && !*changed || !m.dies(effect.Answer, done) {
			done(err)
		}
	})
}

// dies reports whether the sender is killed now. It does not wait for it: done is
// called when it is gone.
func (m *mortal) dies(ending string, done func(error)) bool {
	death := m.b.cfg.Crashes.Passes(m.agent, ending, m.effect)
	if death == nil {
		return false
	}
	m.b.dying.Go(func() {
		death.Bring(m.gone)
		done(amqp.ErrCut)
	})
	return true
}
