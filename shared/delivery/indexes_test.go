package delivery_test

import (
	"context"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/deliveries"
	"github.com/fabrikam/drone-delivery/shared/delivery/drone"
	"github.com/fabrikam/drone-delivery/shared/delivery/parcel"
	"github.com/fabrikam/drone-delivery/shared/record"
)

// queried notes the fields that the queries of a container compare besides the id.
type queried struct {
	business.Documents
	fields []string
}

var compared = regexp.MustCompile(`c(?:\.|\[")(\w+)(?:"\])? *(?:=|<|>)`)

func (q *queried) Page(_ context.Context, query business.Query) ([][]byte, string, error) {
	for _, m := range compared.FindAllStringSubmatch(query.Text, -1) {
		if m[1] != "id" && !slices.Contains(q.fields, m[1]) {
			q.fields = append(q.fields, m[1])
		}
	}
	return nil, "", nil
}

// Ensure that the fields that queries compare are indexed, and no others: each
// index makes every write dearer.
func TestIndexesAreThoseOfTheQueries(t *testing.T) {
	ctx, now := t.Context(), time.Now
	containers := map[string]*queried{}
	of := func(name string) *queried {
		containers[name] = &queried{}
		return containers[name]
	}
	fleet := drone.Over(of(delivery.DronesContainer))
	packages := parcel.New(record.Keeper[parcel.Content]{Store: record.Over[record.Record[parcel.Content]](of(delivery.PackagesContainer)), Now: now})
	made := deliveries.New(record.Keeper[deliveries.Content]{Store: record.Over[record.Record[deliveries.Content]](of(delivery.DeliveriesContainer)), Now: now})
	_, _, err1 := fleet.Free(ctx, "zone", drone.Window{}, "", "")
	_, _, err2 := fleet.Zone(ctx, "zone", "")
	_, _, err3 := packages.PageOf(ctx, "owner", "")
	_, _, err4 := made.PageOf(ctx, "owner", "")
	for _, err := range []error{err1, err2, err3, err4} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range delivery.Business().Backends {
		for _, c := range b.Containers {
			got := []string(nil)
			if queried := containers[c.Name]; queried != nil {
				got = queried.fields
			}
			if !slices.Equal(got, c.Indexed) {
				t.Errorf("%s is queried by %v, and indexes %v", c.Name, got, c.Indexed)
			}
		}
	}
}
