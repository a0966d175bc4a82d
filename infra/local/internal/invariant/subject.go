package invariant

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Subject is a business as the checker sees it. It is read-only and safe for
// concurrent use.
type Subject struct {
	business business.Business
	trial    trial.Trial
	// sample is a request, as the steps get it: what they call may depend on it.
	sample json.RawMessage
	// effects are those of the steps, in their order.
	effects []effectful
}

// effectful is a step with an effect, and where that is.
type effectful struct {
	trial.Effect
	*workflow.Step
	// own tells whether the records have the id of their transaction.
	own bool
}

// NewSubject returns the business as its trial tells of it. Without one, which is nil
// then, the effects are where the backends that the steps call
// declare them, and nobody knows what was asked for. The error says which effects
// nobody can judge.
func NewSubject(b business.Business, t *trial.Trial) (*Subject, error) {
	s, err := newSubject(b, t)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range b.Workflow.Steps {
		step := &s.business.Workflow.Steps[i]
		effect, found := s.effectOf(step.Name)
		switch {
		case !found && step.Undo != nil:
			errs = append(errs, fmt.Errorf("step %s has an undo, and no container that is declared an effect is its own: let the trial say which", step.Name))
		case found:
			if t != nil && effect.Ask == nil {
				errs = append(errs, fmt.Errorf("the trial has no Ask for the effect of step %s in container %s", step.Name, effect.Container))
			}
			s.effects = append(s.effects, effectful{effect, step, target(s.probed(step.Call), step.Name).id == probe})
		}
	}
	for _, e := range s.trial.Effects {
		if b.Workflow.Step(e.Step) == nil || !slices.ContainsFunc(s.containers(), func(c business.Container) bool { return c.Name == e.Container && c.Effects }) {
			errs = append(errs, fmt.Errorf("the trial has an effect of step %s in container %s: there is no such step, or no such container that is declared an effect", e.Step, e.Container))
		}
	}
	for _, c := range s.containers() {
		if c.Effects && s.stepOf(c.Name) == "" {
			errs = append(errs, fmt.Errorf("container %s is declared an effect, and nobody can tell of which step: let the trial say so", c.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("the business %s can't be judged: %w", b.Name, err)
	}
	return s, nil
}

// Fit returns an error that names what is wrong with the business, or with its trial
// if it has one, and would only be seen while the system runs. It does not ask whether
// the effects can be judged.
func Fit(b business.Business, t *trial.Trial) error {
	_, err := newSubject(b, t)
	return err
}

// newSubject returns a subject without its effects.
func newSubject(b business.Business, t *trial.Trial) (*Subject, error) {
	s := &Subject{business: b, sample: json.RawMessage("{}")}
	if err := b.Workflow.Validate(); err != nil {
		return nil, fmt.Errorf("the business %s: %w", b.Name, err)
	}
	if t != nil {
		s.trial = *t
		if err := s.drawSample(); err != nil {
			return nil, fmt.Errorf("the business %s can't be judged: %w", b.Name, err)
		}
	}
	if err := errors.Join(s.unfit()...); err != nil {
		return nil, fmt.Errorf("the business %s: %w", b.Name, err)
	}
	return s, nil
}

// unfit returns what does not fit together.
func (s *Subject) unfit() (errs []error) {
	b := s.business
	for i := range b.Workflow.Steps {
		step := &b.Workflow.Steps[i]
		var calls []workflow.Call
		if call, err := s.tried(step.Call); err == nil { // else it needs results, which there will be
			calls = append(calls, call)
		}
		if step.Undo != nil {
			call, err := s.tried(step.Undo)
			if err == nil && s.trial.Kinds != nil && slices.Contains(strings.Split(call.Path, "/"), "") {
				err = fmt.Errorf("its path is %q", call.Path)
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("step %s can't be undone without results, which an undo does not see: %w", step.Name, err))
				continue
			}
			calls = append(calls, call)
		}
		for _, call := range calls {
			if !slices.ContainsFunc(b.Backends, func(b business.Backend) bool { return b.Name == call.Backend }) {
				errs = append(errs, fmt.Errorf("step %s calls the backend %q, which the business does not have", step.Name, call.Backend))
				break
			}
		}
	}
	names := settings.FunctionNames(business.Business{}) // the system's own
	for _, backend := range b.Backends {
		for _, f := range backend.Functions {
			if slices.Contains(names, f.Name) {
				errs = append(errs, fmt.Errorf("there are two functions with the name %s", f.Name))
			}
			names = append(names, f.Name)
		}
	}
	usual := 0
	for _, k := range s.trial.Kinds {
		if k.Percent == 0 && k.End != "" {
			usual++
		}
	}
	if s.trial.Kinds != nil && usual != 1 {
		errs = append(errs, fmt.Errorf("%d kinds with an End have no Percent, want one: it takes the rest", usual))
	}
	return errs
}

// probe is the TransactionID of a call that is made to look at.
const probe = "probe"

func (s *Subject) probed(call func(workflow.Input) workflow.Call) workflow.Call {
	c, _ := s.tried(call)
	return c
}

// tried is probed, or why the call can't be made without results.
func (s *Subject) tried(call func(workflow.Input) workflow.Call) (_ workflow.Call, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return call(workflow.Input{TransactionID: probe, Revision: 1, Request: s.sample}), nil
}

// drawSample draws a request of a kind that completes, if the trial has one.
func (s *Subject) drawSample() error {
	at := slices.IndexFunc(s.trial.Kinds, func(k trial.Kind) bool { return k.End == workflow.Completed })
	if at < 0 {
		return nil
	}
	body, err := json.Marshal(s.trial.Kinds[at].Draw(trial.Draw{Random: rand.New(rand.NewPCG(1, 1)), Name: probe, At: time.Unix(0, 0)}))
	if err != nil {
		return fmt.Errorf("encode a sample of the kind %s: %w", s.trial.Kinds[at].Name, err)
	}
	request, err := s.business.Parse(body, nil, time.Unix(0, 0))
	if err != nil {
		return fmt.Errorf("a sample of the kind %s: %w", s.trial.Kinds[at].Name, err)
	}
	s.sample = request.Canonical
	return nil
}

// effectOf returns where the effect of a step is: where the trial says, or else in
// the one container of effects of the backend that only this step calls.
func (s *Subject) effectOf(step string) (trial.Effect, bool) {
	for _, e := range s.trial.Effects {
		if e.Step == step {
			return e, true
		}
	}
	if s.trial.Effects != nil {
		return trial.Effect{}, false
	}
	backend := ""
	calls := map[string]int{} // steps by backend
	for i := range s.business.Workflow.Steps {
		other := &s.business.Workflow.Steps[i]
		name := s.probed(other.Call).Backend
		calls[name]++
		if other.Name == step {
			backend = name
		}
	}
	var found []string
	for _, b := range s.business.Backends {
		for _, c := range b.Containers {
			if b.Name == backend && c.Effects {
				found = append(found, c.Name)
			}
		}
	}
	if calls[backend] != 1 || len(found) != 1 {
		return trial.Effect{}, false
	}
	return trial.Effect{Step: step, Container: found[0]}, true
}

// stepOf returns the step whose effects a container holds, "" for none.
func (s *Subject) stepOf(container string) string {
	for _, e := range s.effects {
		if e.Container == container {
			return e.Name
		}
	}
	return ""
}

// containers returns those of the backends.
func (s *Subject) containers() []business.Container {
	var all []business.Container
	for _, b := range s.business.Backends {
		all = append(all, b.Containers...)
	}
	return all
}

// Calls returns the calls of all steps, and their undos, for a transaction that
// nobody has asked for.
func (s *Subject) Calls() []workflow.Call {
	var all []workflow.Call
	for i := range s.business.Workflow.Steps {
		step := &s.business.Workflow.Steps[i]
		all = append(all, s.probed(step.Call))
		if step.Undo != nil {
			all = append(all, s.probed(step.Undo))
		}
	}
	for i := range all {
		if strings.HasSuffix(all[i].Path, "/") { // it ends with a part of the request
			all[i].Path += probe
		}
	}
	return all
}

// Containers returns the names of all containers: the system's own and the
// backends'.
func (s *Subject) Containers() []string {
	all := []string{
		cosmosdb.TransactionsContainer, cosmosdb.RequestsContainer, cosmosdb.QuarantineContainer, cosmosdb.CheckpointsContainer,
	}
	for _, c := range s.containers() {
		all = append(all, c.Name)
	}
	return all
}

// canonical returns the one form of the body of an operation that was accepted.
func (s *Subject) canonical(kind workflow.OperationKind, body json.RawMessage) (json.RawMessage, error) {
	if kind == workflow.OperationReschedule {
		return s.business.ParseChange(body, nil, time.Time{})
	}
	r, err := s.business.Parse(body, nil, time.Time{})
	return r.Canonical, err
}
