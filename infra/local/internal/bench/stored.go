package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/fabrikam/drone-delivery/infra/local/internal/load"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/engine/enginetest"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// mix is how many of a thousand stored transactions are in a state, and how services
// answer so that they come into it. Two of a hundred are open: more, where the hub holds
// a backlog, are events and no documents yet.
var mix = []struct {
	state    workflow.State
	thousand int
	answer   func(at stepAt, undo bool) *workflow.Outcome
}{
	{workflow.Completed, 920, nil},
	{workflow.Rejected, 40, func(at stepAt, _ bool) *workflow.Outcome { return when(at == firstStep, refused) }},
	{workflow.Compensated, 20, func(at stepAt, undo bool) *workflow.Outcome { return when(at == lastStep && !undo, refused) }},
	{workflow.Running, 15, func(at stepAt, _ bool) *workflow.Outcome { return when(at == lastStep, unavailable) }},
	{workflow.Compensating, 4, func(at stepAt, undo bool) *workflow.Outcome {
		if undo {
			return &unavailable
		}
		return when(at == lastStep, refused)
	}},
	{workflow.Stuck, 1, func(at stepAt, undo bool) *workflow.Outcome { return when(undo || at == lastStep, refused) }},
}

// stepAt is where in the definition a step stands.
type stepAt int

const (
	anyStep stepAt = iota
	firstStep
	lastStep
)

var (
	refused     = enginetest.Refused(422, "the service can't do that: it has no such capacity")
	unavailable = enginetest.Unavailable("the service is down for maintenance, and will be back in an hour")
)

func when(is bool, o workflow.Outcome) *workflow.Outcome {
	if is {
		return &o
	}
	return nil
}

// kindOf returns which of mix the nth transaction is: all thousand of them in a
// thousand, and not one kind after the other.
func kindOf(n int) int {
	at := n * 387 % 1000 // 387 and 1000 have no common factor
	for kind, of := range mix {
		if at -= of.thousand; at < 0 {
			return kind
		}
	}
	panic("mix has less than a thousand")
}

const (
	// templates is how many documents of each kind the engine makes. All others are
	// copies of them, with an id and a key of their own.
	templates = 40
	// acceptedWithin is how long ago the first was accepted: less than an open one may
	// take.
	acceptedWithin = 20 * time.Hour
	// waits is how long an open one waits: it must rest while it is looked at.
	waits = 3 * time.Hour
)

// A template is a document that the engine has made.
type template struct {
	doc     []byte
	id, key string // "" without a key
}

// copy returns the document as that of the nth transaction.
func (t template) copy(n int) (id string, doc []byte) {
	id = storedID(n)
	doc = bytes.ReplaceAll(t.doc, []byte(t.id), []byte(id))
	if t.key != "" {
		doc = bytes.ReplaceAll(doc, []byte(`"`+t.key+`"`), []byte(`"`+storedKey(t.key, n)+`"`))
	}
	return id, doc
}

// storedID is as long as an id that is minted.
func storedID(n int) string { return fmt.Sprintf("stored-%044d", n) }

func storedKey(of string, n int) string { return fmt.Sprintf("%s-%d", of, n) }

// quiet is what a world tells its failures.
type quietly struct{ err error }

func (q *quietly) Helper()             {}
func (q *quietly) Logf(string, ...any) {}
func (q *quietly) Errorf(format string, args ...any) {
	q.err = errors.Join(q.err, fmt.Errorf(format, args...))
}
func (q *quietly) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

// newTemplate has the engine run a transaction that ends, or waits, in the state of a
// kind, as if it had been accepted then.
func newTemplate(b business.Business, s load.Samples, kind, n int, accepted, until time.Time) (t template, err error) {
	of := mix[kind]
	request, err := b.Parse(s.Body(n), nil, accepted)
	if err != nil {
		return t, fmt.Errorf("a sample request: %w", err)
	}
	steps := b.Workflow.Steps
	var said quietly
	w := enginetest.New(&said, &b.Workflow, uint64(n), nil)
	w.Clock.AdvanceTo(accepted)
	w.Backends.Answer = func(a engine.Attempt) json.RawMessage { return s.Answers[a.Step] }
	if of.answer != nil {
		w.Backends.OnCall = func(a engine.Attempt) *workflow.Outcome {
			at := anyStep
			switch a.Step {
			case steps[0].Name:
				at = firstStep
			case steps[len(steps)-1].Name:
				at = lastStep
			}
			return of.answer(at, a.Undo)
		}
	}
	t.id = storedID(n) + "-template"
	w.Post(workflow.OperationStart, t.id, fmt.Sprintf("o1-%048d", n), request.Canonical)
	for w.Step() {
	}
	if !of.state.Final() && of.state != workflow.Stuck { // what has waited and come again waits until then
		w.Clock.AdvanceTo(until)
		for w.Step() {
		}
	}
	p := w.Store.Get(t.id)
	if said.err != nil || p == nil || p.State != of.state {
		return t, errors.Join(fmt.Errorf("the engine made no transaction that is %s: %+v", of.state, p), said.err)
	}
	t.key = keyOf(request.Canonical, b.Key)
	t.doc, err = json.Marshal(p)
	return t, err
}

// keyOf returns a field of a request, "" if it is no text.
func keyOf(request json.RawMessage, path string) string {
	var at any
	if json.Unmarshal(request, &at) != nil {
		return ""
	}
	for part := range strings.SplitSeq(path, ".") {
		fields, _ := at.(map[string]any)
		at = fields[part]
	}
	text, _ := at.(string)
	return text
}

// stored makes documents of transactions.
type stored [][]template // by kind

func newStored(b business.Business, s load.Samples, now time.Time) (all stored, err error) {
	for kind := range mix {
		var of []template
		for n := range templates {
			t, err := newTemplate(b, s, kind, kind*templates+n, now.Add(-acceptedWithin*time.Duration(n+1)/templates), now.Add(waits))
			if err != nil {
				return nil, err
			}
			of = append(of, t)
		}
		all = append(all, of)
	}
	return all, nil
}

func (s stored) of(n int) template { return s[kindOf(n)][n%templates] }

// writers is how many documents are stored at once.
const writers = 64

// fill stores so many transactions.
func (s stored) fill(ctx context.Context, db *cosmosdb.Database, count int, tell func(done int)) error {
	c := db.Container(cosmosdb.TransactionsContainer)
	var next, done atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range writers {
		group.Go(func() error {
			for n := int(next.Add(1)) - 1; n < count; n = int(next.Add(1)) - 1 {
				id, doc := s.of(n).copy(n)
				if _, err := c.Create(ctx, id, id, doc); err != nil {
					return err
				}
				tell(int(done.Add(1)))
			}
			return nil
		})
	}
	return group.Wait()
}
