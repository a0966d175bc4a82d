package ingest

import "github.com/fabrikam/drone-delivery/shared/workflow"

// View is a transaction as its client sees it. It says nothing of leases,
// wakes, callers or the bodies of requests.
type View struct {
	ID    string         `json:"id"` // the TransactionID
	State workflow.State `json:"state"`
	// Observed is false for a transaction that was accepted, and of which
	// nothing more is known yet. Then only ID, State and AcceptedAt are set.
	Observed bool `json:"observed"`
	Revision int  `json:"revision,omitempty"` // 1 for the first request, +1 for every change
	// Cause is why it is, or was, undone: failed, expired or cancelled.
	Cause      workflow.Cause   `json:"cause,omitempty"`
	Reason     string           `json:"reason,omitempty"`
	AcceptedAt workflow.Instant `json:"acceptedAt,omitzero"`
	StartedAt  workflow.Instant `json:"startedAt,omitzero"`
	CompleteBy workflow.Instant `json:"completeBy,omitzero"`
	EndedAt    workflow.Instant `json:"endedAt,omitzero"` // of the last final state
	Steps      []StepView       `json:"steps"`
	Operations []OperationView  `json:"operations"`
}

// StepView is a step of a transaction.
type StepView struct {
	Name      string             `json:"name"`
	State     workflow.StepState `json:"state"`
	Effect    workflow.Effect    `json:"effect"`
	Attempts  int                `json:"attempts"`
	StartedAt workflow.Instant   `json:"startedAt,omitzero"` // first attempt
	EndedAt   workflow.Instant   `json:"endedAt,omitzero"`   // latest result
	// Error is that of the latest failed attempt, or of the latest failed undo
	// while the step is undone.
	Error *ErrorView `json:"error,omitempty"`
}

// ErrorView is why an attempt failed.
type ErrorView struct {
	Status int    `json:"status,omitempty"` // HTTP; absent when there was no answer
	Type   string `json:"type,omitempty"`
	// Message is what the service has said; not what went wrong on the way to it.
	Message string `json:"message"`
}

// OperationView is an operation that a client asked for.
type OperationView struct {
	ID            string `json:"id"` // the OperationID
	TransactionID string `json:"transactionId"`
	// Kind is absent while the operation has not been observed.
	Kind  workflow.OperationKind  `json:"kind,omitempty"`
	State workflow.OperationState `json:"state"`
	// Observed is false for an operation that was accepted and has not reached
	// its transaction yet.
	Observed   bool             `json:"observed"`
	Reason     string           `json:"reason,omitempty"` // for Refused and Superseded
	AcceptedAt workflow.Instant `json:"acceptedAt,omitzero"`
	EndedAt    workflow.Instant `json:"endedAt,omitzero"`
}

func viewOf(p *workflow.Progress, caller string) View {
	v := View{
		ID: p.ID, State: p.State, Observed: true, Revision: p.Revision, Cause: p.Cause, Reason: p.Reason,
		AcceptedAt: p.AcceptedAt, StartedAt: p.StartedAt, CompleteBy: p.CompleteBy, EndedAt: p.EndedAt,
		Steps: make([]StepView, 0, len(p.Steps)), Operations: make([]OperationView, 0, len(p.Operations)),
	}
	for i := range p.Steps {
		v.Steps = append(v.Steps, stepView(&p.Steps[i]))
	}
	for i := range p.Operations {
		if o := &p.Operations[i]; workflow.Owns(o.Caller, caller) {
			v.Operations = append(v.Operations, operationView(p.ID, o))
		}
	}
	return v
}

func stepView(s *workflow.StepProgress) StepView {
	step := StepView{
		Name: s.Name, State: s.State, Effect: s.Effect, Attempts: s.Attempts,
		StartedAt: s.StartedAt, EndedAt: s.EndedAt,
	}
	failed := s.Error
	if s.State == workflow.StepUndoing && s.UndoError != nil {
		failed = s.UndoError
	}
	if failed != nil {
		step.Error = &ErrorView{Status: failed.Status, Type: failed.Type, Message: failed.Told()}
	}
	return step
}

func operationView(transactionID string, o *workflow.OperationRecord) OperationView {
	return OperationView{
		ID: o.ID, TransactionID: transactionID, Kind: o.Kind, State: o.State, Observed: true,
		Reason: o.Reason, AcceptedAt: o.AcceptedAt, EndedAt: o.EndedAt,
	}
}

func operationOutside(o workflow.OutsideOperation) OperationView {
	return OperationView{
		ID: o.OperationID, TransactionID: o.TransactionID, Kind: o.Operation, State: o.State, Observed: true,
		Reason: o.Reason, AcceptedAt: o.AcceptedAt, EndedAt: o.EndedAt,
	}
}

// unobserved is the view of a transaction that has no document yet.
func unobserved(id string, accepted workflow.Instant) View {
	return View{
		ID: id, State: workflow.Accepted, AcceptedAt: accepted,
		Steps: []StepView{}, Operations: []OperationView{},
	}
}
