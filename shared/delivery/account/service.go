// Package account is the backend of the customers: who they are, and whether
// they may order. No transaction creates an account.
package account

import (
	"context"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
)

// The statuses of an account.
const (
	Active    = "active"
	Suspended = "suspended"
)

// Account is one customer.
type Account struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"` // Active or Suspended
}

// An active account is remembered for so long, so that many orders of a customer read it
// once; and so many of them are. Who is unknown or suspended is looked up each time.
const (
	keptFor = 30 * time.Second
	maxKept = 10_000
)

// Service keeps the accounts. It is safe for concurrent use.
type Service struct {
	store record.Store[Account]
	now   func() time.Time

	mu     sync.Mutex
	active map[string]kept // by id
	puts   int             // whatever was read before the latest is not remembered
}

// kept is an account, and until when it counts.
type kept struct {
	Account
	until time.Time
}

// New returns the service on its storage and clock.
func New(store record.Store[Account], now func() time.Time) *Service {
	return &Service{store: store, now: now, active: map[string]kept{}}
}

// Get returns an account, which was read up to 30 s ago if it is active: a change by
// another process may not show yet. NotFound if there is none.
func (s *Service) Get(ctx context.Context, id string) (Account, error) {
	began := s.now()
	s.mu.Lock()
	known, puts := s.active[id], s.puts
	s.mu.Unlock()
	if began.Before(known.until) {
		return known.Account, nil
	}
	account, _, err := s.store.Read(ctx, id)
	if err != nil || account.Status != Active {
		return account, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.active) >= maxKept {
		clear(s.active)
	}
	if s.puts == puts {
		s.active[id] = kept{account, began.Add(keptFor)}
	}
	return account, nil
}

// Put creates an account or replaces it, and reports whether it was created.
func (s *Service) Put(ctx context.Context, account Account) (created bool, err error) {
	_, err = record.Update(ctx, s.store, account.ID, func(doc *Account, exists bool) (bool, error) {
		created = !exists
		changed := *doc != account
		*doc = account
		return changed, nil
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.puts++
	delete(s.active, account.ID)
	return created, err
}
