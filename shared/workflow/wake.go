package workflow

import "time"

// RaiseWake makes a new wake the current one, due at at. Whoever saves it
// sends it. Anyone may raise a wake under the document's ETag.
func (p *Progress) RaiseWake(at time.Time) {
	p.Wake++
	p.WakeAt = At(at)
	p.WakeQueue = p.State.Queue()
}

// Take gives the lease to a runner. It raises a wake behind the lease's end,
// which is not sent: it is there for Sweep to find if the runner dies, and for
// others to send who meet the lease.
func (p *Progress) Take(runner string, until time.Time, margin time.Duration) {
	p.Lease = Lease{Runner: runner, Epoch: p.Lease.Epoch + 1, Until: At(until)}
	p.Saves++
	p.Sweeps = 0
	p.RaiseWake(until.Add(margin))
}

// Renew keeps the lease with the runner that holds it, also when the transaction
// has come to rest and was reopened by the same save. The current wake is put
// off with it, not replaced: its message, should one be under way, is answered
// by a new wake when it meets the lease.
func (p *Progress) Renew(runner string, until time.Time, margin time.Duration) {
	p.Lease = Lease{Runner: runner, Epoch: p.Lease.Epoch, Until: At(until)}
	p.WakeAt = At(until.Add(margin))
	p.WakeQueue = p.State.Queue()
	p.Saves++
}

// Release gives the lease back with the save that it is part of. The epoch
// stays, so that its holder recognizes its last save.
func (p *Progress) Release(next time.Time) {
	p.Lease = Lease{Epoch: p.Lease.Epoch}
	p.Saves++
	p.Sweeps = 0
	if p.Rests() {
		p.sleep()
		return
	}
	p.RaiseWake(next)
}
