package cosmosdb

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The ids of what the status is made of, beside the checkpoints: the status itself,
// the survey, and in one range a report for each instance.
const (
	statusID     = "status"
	surveyID     = "survey"
	reportPrefix = "report."
	reportEnd    = "report/" // behind all of them
	reportLasts  = 600       // s; what has not been told again for so long expires
)

// countPage is how many documents a page of a count has.
const countPage = 1000

// Told implements operate.Told and operate.Counter.
type Told struct{ kept, transactions, quarantine *Container }

var (
	_ operate.Told    = (*Told)(nil)
	_ operate.Counter = (*Told)(nil)
)

// NewTold returns the store of what the status is made of.
func NewTold(db *Database) *Told {
	return &Told{db.Container(CheckpointsContainer), db.Container(TransactionsContainer), db.Container(QuarantineContainer)}
}

// told is a document.
type told struct {
	ID     string          `json:"id"`
	TTL    int             `json:"ttl,omitempty"`
	Report *operate.Report `json:"report,omitempty"`
	Survey *operate.Survey `json:"survey,omitempty"`
	Status *operate.Status `json:"status,omitempty"`
}

// unfit are the characters that no id may have
// (https://learn.microsoft.com/azure/cosmos-db/concepts-limits#per-item-limits).
var unfit = strings.NewReplacer("/", "_", "\\", "_", "?", "_", "#", "_")

// Report stores an instance's report in place of its last one.
func (s *Told) Report(ctx context.Context, r operate.Report) error {
	id := reportPrefix + unfit.Replace(r.Instance)
	return s.put(ctx, told{ID: id, TTL: reportLasts, Report: &r})
}

// Surveyed stores a survey in place of the last one.
func (s *Told) Surveyed(ctx context.Context, survey operate.Survey) error {
	return s.put(ctx, told{ID: surveyID, Survey: &survey})
}

func (s *Told) put(ctx context.Context, t told) error {
	doc, err := json.Marshal(t)
	if err != nil {
		return fmt.Errorf("encode %s: %w", t.ID, err)
	}
	_, err = s.kept.Upsert(ctx, t.ID, t.ID, doc)
	return err
}

// Reports returns the reports.
func (s *Told) Reports(ctx context.Context) (reports []operate.Report, err error) {
	query := business.Query{
		Text:       "SELECT * FROM c WHERE c.id >= @from AND c.id < @to",
		Parameters: map[string]any{"@from": reportPrefix, "@to": reportEnd}, Max: countPage,
	}
	for {
		page, next, err := business.Page[told](ctx, s.kept, query)
		if err != nil {
			return nil, err
		}
		for _, t := range page {
			if t.Report != nil {
				reports = append(reports, *t.Report)
			}
		}
		if next == "" {
			return reports, nil
		}
		query.Continuation = next
	}
}

// Read returns the status that was stored last, nil if there is none, with its ETag,
// and the survey.
func (s *Told) Read(ctx context.Context) (*operate.Status, operate.Survey, string, error) {
	var survey operate.Survey
	surveyed, _, err := s.read(ctx, surveyID)
	if err != nil {
		return nil, survey, "", err
	}
	if surveyed.Survey != nil {
		survey = *surveyed.Survey
	}
	t, etag, err := s.read(ctx, statusID)
	return t.Status, survey, etag, err
}

// read returns a document, an empty one if there is none.
func (s *Told) read(ctx context.Context, id string) (told, string, error) {
	t, etag, err := business.Read[told](ctx, s.kept, id, id)
	if failure.Is(err, failure.NotFound) {
		return told{}, "", nil
	}
	return t, etag, err
}

// Write stores a status, without the survey, in place of the one that was read with
// etag, "" for none.
func (s *Told) Write(ctx context.Context, status operate.Status, etag string) (err error) {
	status.Survey = operate.Survey{}
	doc := told{ID: statusID, Status: &status}
	if etag == "" {
		_, err = business.Create(ctx, s.kept, statusID, statusID, doc)
	} else {
		_, err = business.Replace(ctx, s.kept, statusID, statusID, doc, etag)
	}
	return err
}

// InState counts the transactions in a state, by when they were accepted.
func (s *Told) InState(ctx context.Context, state workflow.State, limit int) (operate.Count, error) {
	return count(ctx, s.transactions, limit, "SELECT c.acceptedAt AS at FROM c WHERE c.state = @what", string(state))
}

// Overdue counts the transactions whose wake was due before a time, by when it was.
func (s *Told) Overdue(ctx context.Context, before workflow.Instant, limit int) (operate.Count, error) {
	return count(ctx, s.transactions, limit, "SELECT c.wakeAt AS at FROM c WHERE c.wakeAt < @what", before.String())
}

// Notices counts the transactions with notices that were due before a time, by when.
func (s *Told) Notices(ctx context.Context, before workflow.Instant, limit int) (operate.Count, error) {
	return count(ctx, s.transactions, limit, "SELECT c.outbox.at AS at FROM c WHERE c.outbox.at < @what", before.String())
}

// Kept counts the entries of the quarantine that nobody has decided about.
func (s *Told) Kept(ctx context.Context, limit int) (operate.Count, error) {
	return count(ctx, s.quarantine, limit, "SELECT c.at FROM c WHERE c.state = @what", "Kept")
}

// count counts what a query selects, up to a limit.
func count(ctx context.Context, c *Container, limit int, query string, what any) (operate.Count, error) {
	var out operate.Count
	for next := ""; ; {
		page, more, err := business.Page[struct{ At time.Time }](ctx, c, business.Query{
			Text: query, Parameters: map[string]any{"@what": what}, Continuation: next, Max: countPage,
		})
		if err != nil {
			return out, err
		}
		for _, found := range page {
			out.Add(found.At, limit)
		}
		if next = more; next == "" || out.More {
			return out, nil
		}
	}
}
