package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Backends are services that keep the undo contract: a PUT of what is there is
// a repeat or a change, a lower revision is refused, a DELETE leaves a
// tombstone, and a PUT on a tombstone is refused. What the world has finished
// (Finish) stays: its DELETE is refused for good, and so is a change of it. They
// are an engine.Backends;
// their effects are "<METHOD> <path>". Safe for concurrent use.
type Backends struct {
	Gate *workflowtest.Gate
	// OnCall, when set, is asked before each call, without a lock held. An
	// outcome that it returns is the answer, and the service is not called.
	OnCall func(req engine.Attempt) *workflow.Outcome
	// Answer is the result of a PUT; nil means {}.
	Answer func(req engine.Attempt) json.RawMessage

	mu      sync.Mutex
	things  map[string]*thing
	history []engine.Attempt
}

type thing struct {
	live, tombstone bool
	finished        bool
	revision        int
	body            []byte
	created         int
}

// NewBackends returns services without anything in them.
func NewBackends(g *workflowtest.Gate) *Backends {
	return &Backends{Gate: g, things: map[string]*thing{}}
}

// Do makes one call.
func (b *Backends) Do(ctx context.Context, req engine.Attempt) workflow.Outcome {
	if err := ctx.Err(); err != nil {
		return workflow.Outcome{Retry: workflow.RetryLater, Type: "not-sent", Message: err.Error()}
	}
	b.mu.Lock()
	b.history = append(b.history, req)
	b.mu.Unlock()
	if b.OnCall != nil {
		if o := b.OnCall(req); o != nil {
			return *o
		}
	}
	fate, lost := b.Gate.Ask(req.Call.Method + " " + req.Call.Path)
	if fate == workflowtest.Refuse {
		return Unavailable(lost.Error())
	}
	o := b.serve(req)
	if fate == workflowtest.Lose {
		return Unavailable(lost.Error())
	}
	return o
}

func (b *Backends) serve(req engine.Attempt) workflow.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.things[req.Call.Path]
	if it == nil {
		it = &thing{}
		b.things[req.Call.Path] = it
	}
	if req.Call.Method == "DELETE" && it.finished {
		o := Refused(409, "it has happened")
		o.Type = workflow.TypeCannotUndo
		return o
	}
	if req.Call.Method == "DELETE" {
		it.live, it.tombstone = false, true
		return workflow.Outcome{Effect: workflow.EffectYes, Status: 204}
	}
	switch {
	case it.tombstone:
		return Refused(410, "it is gone")
	case it.live && req.Revision < it.revision:
		return Refused(409, fmt.Sprintf("revision %d is older than %d", req.Revision, it.revision))
	case it.live && req.Revision == it.revision && !bytes.Equal(req.Call.Body, it.body):
		return Refused(409, "it is there with other content")
	case it.finished && !bytes.Equal(req.Call.Body, it.body):
		return Refused(409, "it has happened as it was")
	case !it.live:
		it.created++
	}
	it.live, it.revision, it.body = true, req.Revision, req.Call.Body
	result := json.RawMessage("{}")
	if b.Answer != nil {
		if r := b.Answer(req); r != nil {
			result = r
		}
	}
	return workflow.Outcome{Effect: workflow.EffectYes, Status: 201, Result: result}
}

// Unavailable is the outcome of a call whose effect is unknown.
func Unavailable(message string) workflow.Outcome {
	return workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: 503, Type: "unavailable", Message: message}
}

// Busy is the outcome of a call that was not taken, to be repeated after a
// while.
func Busy(after time.Duration) workflow.Outcome {
	return workflow.Outcome{Retry: workflow.RetryLater, Effect: workflow.EffectNo, Type: "busy", Message: "busy", RetryAfter: after}
}

// Refused is the outcome of a call that a service will never take.
func Refused(status int, message string) workflow.Outcome {
	return workflow.Outcome{Retry: workflow.RetryNever, Effect: workflow.EffectNo, Status: status, Type: "refused", Message: message}
}

// Finish has the world finish what is at path, if it is there, and reports whether
// it is finished.
func (b *Backends) Finish(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.things[path]
	if it == nil || !it.live {
		return false
	}
	it.finished = true
	return true
}

// Finished reports whether the world has finished what is at path.
func (b *Backends) Finished(path string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	it := b.things[path]
	return it != nil && it.finished
}

// Live returns the paths of what exists now.
func (b *Backends) Live() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	live := []string{}
	for path, it := range b.things {
		if it.live {
			live = append(live, path)
		}
	}
	slices.Sort(live)
	return live
}

// Created returns how often the thing came into being; a repeat and a change
// do not count.
func (b *Backends) Created(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.things[path]; it != nil {
		return it.created
	}
	return 0
}

// Body returns what the service holds at path, nil if nothing.
func (b *Backends) Body(path string) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.things[path]; it != nil && it.live {
		return it.body
	}
	return nil
}

// Revision returns the revision of what the service holds at path, 0 if nothing.
func (b *Backends) Revision(path string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if it := b.things[path]; it != nil && it.live {
		return it.revision
	}
	return 0
}

// Calls returns the calls so far as "<METHOD> <path>".
func (b *Backends) Calls() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := make([]string, len(b.history))
	for i, req := range b.history {
		calls[i] = req.Call.Method + " " + req.Call.Path
	}
	return calls
}
