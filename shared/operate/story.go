package operate

import (
	"context"
	"fmt"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// Story is all that is known of one transaction.
type Story struct {
	// Transaction is its document, as it is stored.
	Transaction *workflow.Progress `json:"transaction"`
	// Overdue is as in Summary.
	Overdue bool `json:"overdue"`
	// TraceID is the id of its trace, 32 hexadecimal digits; "" if it has none.
	TraceID string `json:"traceId,omitempty"`
	// TraceURL is where people look at it; "" if that is not known.
	TraceURL string `json:"traceUrl,omitempty"`
	// Timeline is what has happened, in the order of time.
	Timeline []Event `json:"timeline"`
	// Remaining are the undos that are left, in an order in which they can be
	// made.
	Remaining []Remaining `json:"remaining"`
	// Next is what will happen, the soonest first.
	Next []Expectation `json:"next"`
	// Acts are what an operator can do: the last parts of paths.
	Acts []string `json:"acts"`
	// Quarantine are its entries in the quarantine, without their bodies;
	// MoreInQuarantine is set when there are more of them.
	Quarantine       []quarantine.Entry `json:"quarantine"`
	MoreInQuarantine bool               `json:"moreInQuarantine"`
}

// The acts on a transaction.
const (
	ActRetry  = "retry"
	ActGiveUp = "giveup"
	ActWake   = "wake"
)

// maxStoryEntries bounds the entries of the quarantine in a story.
const maxStoryEntries = 100

// Story returns all that is known of a transaction. NotFound if nothing is.
func (s *Service) Story(ctx context.Context, id string) (Story, error) {
	p, _, err := s.c.Engine.Read(ctx, id)
	if err != nil {
		return Story{}, fmt.Errorf("story of transaction %s: %w", id, err)
	}
	now := s.now()
	story := Story{
		Transaction: p, Overdue: overdue(p.WakeAt, now), Remaining: remaining(s.c.Engine.Definition, p),
		Next: expect(s.c.Engine.Definition, p, now), Acts: []string{}, Quarantine: []quarantine.Entry{},
	}
	switch {
	case p.State == workflow.Stuck:
		story.Acts = []string{ActRetry, ActGiveUp}
	case !p.Rests() && !p.Lease.Live(now):
		story.Acts = []string{ActWake}
	}
	filter := quarantine.Filter{TransactionID: id, WithoutBodies: true}
	for next := ""; ; {
		var page []quarantine.Entry
		page, next, err = s.c.Quarantine.Page(ctx, filter, next)
		if err != nil {
			return Story{}, fmt.Errorf("quarantine of transaction %s: %w", id, err)
		}
		story.Quarantine = append(story.Quarantine, page...)
		if len(story.Quarantine) > maxStoryEntries || next == "" {
			break
		}
	}
	if len(story.Quarantine) > maxStoryEntries {
		story.Quarantine, story.MoreInQuarantine = story.Quarantine[:maxStoryEntries], true
	}
	story.Timeline = Timeline(p, story.Quarantine)
	if trace := telemetry.SpanContext(p.TraceParent); trace.IsValid() {
		story.TraceID = trace.TraceID().String()
		story.TraceURL = strings.ReplaceAll(s.c.TraceURL, "{traceId}", story.TraceID)
	}
	return story, nil
}
