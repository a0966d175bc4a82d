// Package account is the backend of the customers: who they are, and whether
// they may order. No transaction creates an account.
package account

import (
	"context"

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

// Service keeps the accounts. It is safe for concurrent use.
type Service struct{ store record.Store[Account] }

// New returns the service on its storage.
func New(store record.Store[Account]) *Service { return &Service{store: store} }

// Get returns an account. NotFound if there is none.
func (s *Service) Get(ctx context.Context, id string) (Account, error) {
	account, _, err := s.store.Read(ctx, id)
	return account, err
}

// Put creates an account or replaces it, and reports whether it was created.
func (s *Service) Put(ctx context.Context, account Account) (created bool, err error) {
	_, err = record.Update(ctx, s.store, account.ID, func(doc *Account, exists bool) (bool, error) {
		created = !exists
		changed := *doc != account
		*doc = account
		return changed, nil
	})
	return created, err
}
