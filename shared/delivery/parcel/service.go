// Package parcel is the backend of the packages: what is to be carried, and for
// whom. ("package" is a keyword of Go.)
package parcel

import (
	"context"
	"time"

	"github.com/fabrikam/drone-delivery/shared/record"
)

// Content is what is kept of a package.
type Content struct {
	OwnerID  string  `json:"ownerId"`
	Size     string  `json:"size"`     // one of value.Sizes
	WeightKg float64 `json:"weightKg"` // greater than 0
	Tag      string  `json:"tag,omitempty"`
}

// Summary is what a customer's live packages of one month come to.
type Summary struct {
	OwnerID       string  `json:"ownerId"`
	Year          int     `json:"year"`
	Month         int     `json:"month"`
	Count         int     `json:"count"`
	TotalWeightKg float64 `json:"totalWeightKg"`
}

// Service keeps the packages. It is safe for concurrent use.
type Service struct{ record.Keeper[Content] }

// New returns the service on a keeper.
func New(k record.Keeper[Content]) *Service {
	k.Account = func(c Content) string { return c.OwnerID }
	return &Service{k}
}

// Put creates or changes a transaction's package, under the rules of package
// record.
func (s *Service) Put(ctx context.Context, id string, by record.By, content Content) (record.Record[Content], record.Change, error) {
	return record.Put(ctx, &s.Keeper, id, by, content, func(*Content) Content { return content })
}

// Summarize adds up the customer's live packages that were created in a month
// (UTC). It reads all of the customer's packages, page by page.
func (s *Service) Summarize(ctx context.Context, ownerID string, year int, month time.Month) (Summary, error) {
	sum := Summary{OwnerID: ownerID, Year: year, Month: int(month)}
	for continuation := ""; ; {
		page, next, err := s.PageOf(ctx, ownerID, continuation)
		if err != nil {
			return Summary{}, err
		}
		for i := range page {
			if y, m, _ := page[i].Since().Date(); y == year && m == month {
				sum.Count++
				sum.TotalWeightKg += page[i].Content.WeightKg
			}
		}
		if next == "" {
			return sum, nil
		}
		continuation = next
	}
}
