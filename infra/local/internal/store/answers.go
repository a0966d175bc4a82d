package store

import "sync"

// answers calls callbacks one after the other, in the order in which they were
// pushed. The zero value is ready to use.
type answers struct {
	mu      sync.Mutex
	queue   []func()
	calling bool
}

// push adds a callback; it does not call it.
func (a *answers) push(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queue = append(a.queue, f)
}

// call calls what was pushed, and what comes in meanwhile. It returns at once
// when another goroutine is at it, or a callback of this one. No lock is held
// while a callback runs, so that it may use the store.
func (a *answers) call() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calling {
		return
	}
	a.calling = true
	for len(a.queue) > 0 {
		next := a.queue
		a.queue = nil
		a.mu.Unlock()
		for _, f := range next {
			f()
		}
		a.mu.Lock()
	}
	a.calling = false
}
