package workflowtest

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Outside keeps the operations that are on record outside of their transactions.
// It is an engine.Outside; its effects are "outside <OperationID>" and "read
// outside <OperationID>". Safe for concurrent use.
type Outside struct {
	Gate *Gate

	mu   sync.Mutex
	kept map[string]workflow.OutsideOperation
}

// NewOutside returns a store without anything in it.
func NewOutside(g *Gate) *Outside {
	return &Outside{Gate: g, kept: map[string]workflow.OutsideOperation{}}
}

// Create stores an operation unless it is there.
func (s *Outside) Create(_ context.Context, o workflow.OutsideOperation) error {
	fate, lost := s.Gate.Ask("outside " + o.OperationID)
	if fate == Refuse {
		return lost
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.kept[o.ID]; !ok {
		s.kept[o.ID] = o
	}
	return lost
}

// Read returns an operation by its OperationID.
func (s *Outside) Read(_ context.Context, operationID string) (workflow.OutsideOperation, error) {
	if fate, lost := s.Gate.Ask("read outside " + operationID); fate != Pass {
		return workflow.OutsideOperation{}, lost
	}
	if o := s.Get(operationID); o != nil {
		return *o, nil
	}
	return workflow.OutsideOperation{}, failure.New(failure.NotFound, "read operation", operationID, nil)
}

// Get returns an operation without asking the gate, nil if there is none.
func (s *Outside) Get(operationID string) *workflow.OutsideOperation {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o, ok := s.kept[workflow.OutsideID(operationID)]; ok {
		return &o
	}
	return nil
}

// All returns all operations, by id.
func (s *Outside) All() []workflow.OutsideOperation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []workflow.OutsideOperation
	for _, o := range s.kept {
		all = append(all, o)
	}
	slices.SortFunc(all, func(a, b workflow.OutsideOperation) int { return strings.Compare(a.ID, b.ID) })
	return all
}
