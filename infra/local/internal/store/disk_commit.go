package store

import "fmt"

// maxGroupBytes bounds the keys and values that one sync takes, unless a single
// batch has more: so nobody waits long for another's.
const maxGroupBytes = 1 << 20

// request is a Commit call that was not answered yet.
type request struct {
	number uint64 // of the Commit call
	batch  Batch
	done   func(error)
	err    error // set when it is not to be committed, only answered in its turn
}

// young is the latest change of a key that is not durable yet.
type young struct {
	change
	number uint64 // of the Commit call
}

// Commit implements [Store].
func (d *Disk) Commit(b Batch, done func(error)) {
	d.mu.Lock()
	r := request{batch: b, done: done}
	switch {
	case d.failure != nil:
		r.err = d.failure
	case d.closed:
		r.err = ErrClosed
	}
	if d.failure == nil && !d.ended {
		d.commits++
		r.number = d.commits
		if r.err == nil {
			for _, c := range b.changes {
				d.young[c.key] = young{c, r.number}
			}
		}
		d.waiting = append(d.waiting, r)
		d.more.Signal()
		d.mu.Unlock()
		return
	}
	// No committer is left to take it.
	d.answers.push(func() { done(r.err) })
	d.mu.Unlock()
	d.answers.call()
}

// run is the committer: it makes what waits durable, one group after the other.
// A group is begun only when the one before it is durable, so that a number in
// the log proves all below it.
func (d *Disk) run(last uint64) {
	defer close(d.finished)
	for {
		group, ok := d.take()
		if !ok {
			return
		}
		if changes(group) {
			last++
			if err := d.write(last, group); err != nil {
				d.fail(fmt.Errorf("commit %d: %w", last, err))
				return
			}
		}
		d.settle()
	}
}

// take waits for the next group; ok is false when there will be none.
func (d *Disk) take() (group []request, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for len(d.waiting) == 0 && !d.closed && d.failure == nil {
		d.more.Wait()
	}
	if d.failure != nil {
		return nil, false
	}
	if len(d.waiting) == 0 {
		d.ended = true
		return nil, false
	}
	n, bytes := 1, d.waiting[0].batch.size()
	for ; n < len(d.waiting); n++ {
		if bytes += d.waiting[n].batch.size(); bytes > maxGroupBytes {
			break
		}
	}
	d.taken, d.waiting = d.waiting[:n:n], d.waiting[n:]
	return d.taken, true
}

// changes reports whether a group changes anything. What doesn't only waits for
// those before it, which are durable.
func changes(group []request) bool {
	for _, r := range group {
		if r.err == nil && !r.batch.Empty() {
			return true
		}
	}
	return false
}

// write makes a group durable as the commit of the given number.
func (d *Disk) write(commit uint64, group []request) error {
	if err := d.log.write(commit, group); err != nil {
		return err
	}
	return d.label.write(commit, false)
}

// settle has the group that was taken answered: it is durable. When the Disk has
// failed meanwhile the group was answered with that.
func (d *Disk) settle() {
	d.mu.Lock()
	for _, r := range d.taken {
		for _, c := range r.batch.changes {
			if d.young[c.key].number == r.number {
				delete(d.young, c.key)
			}
		}
		d.answers.push(func() { r.done(r.err) })
	}
	d.taken = nil
	d.mu.Unlock()
	d.answer()
}

// fail ends the Disk: everything that was not answered, and whatever comes, gets
// the error. The first one counts.
func (d *Disk) fail(err error) {
	d.mu.Lock()
	if d.failure != nil {
		d.mu.Unlock()
		return
	}
	d.failure = fmt.Errorf("store: %w", err)
	for _, r := range append(d.taken, d.waiting...) {
		if r.err == nil {
			r.err = d.failure
		}
		d.answers.push(func() { r.done(r.err) })
	}
	d.taken, d.waiting = nil, nil
	close(d.failed)
	d.more.Broadcast()
	d.mu.Unlock()
	d.answer()
}

// answer has the answerer look.
func (d *Disk) answer() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// call is the answerer: it calls the callbacks, while the committer goes on with
// the next group.
func (d *Disk) call() {
	for {
		select {
		case <-d.wake:
			d.answers.call()
		case <-d.quit:
			d.answers.call()
			return
		}
	}
}
