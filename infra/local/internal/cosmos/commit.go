package cosmos

import (
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// A commit is a batch on its way into the store. A nil commit is done.
type commit struct {
	done chan struct{}
	err  error // set before done is closed
}

// commit hands a batch to the store, with which the items are made. It does not
// wait, so it may be called with locks held.
func (s *Server) commit(b store.Batch, made ...*item) *commit {
	c := &commit{done: make(chan struct{})}
	for _, i := range made {
		i.commit.Store(c)
	}
	s.store.Commit(b, func(err error) {
		if err != nil {
			c.err = err
			s.failOnce.Do(func() {
				s.logger.Error("cosmos: store failed, refusing all requests from now on", "error", err)
				close(s.failed)
			})
		}
		close(c.done)
		for _, i := range made {
			if err == nil {
				i.commit.Store(nil)
			}
		}
	})
	return c
}

// commitCatalog is commit for a change of the catalog. handle waits for the
// latest one before any answer. s.mu is held.
func (s *Server) commitCatalog(b store.Batch) { s.catalog.Store(s.commit(b)) }

// wait waits until the store has taken the batch.
func (c *commit) wait() error {
	if c == nil {
		return nil
	}
	<-c.done
	if c.err != nil {
		return errStoreFailed()
	}
	return nil
}

// errStoreFailed answers everything once a batch was not taken, because then
// memory holds what the store does not.
func errStoreFailed() *apiError {
	return newError(http.StatusServiceUnavailable, 0, "The request failed because the store of this emulator failed; restart it.")
}
