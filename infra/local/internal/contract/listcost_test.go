package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure that the indexes for operators cost a write what ADR 34 says, and that what
// they find costs the same however many transactions of others are stored.
func TestWhatListsCost(t *testing.T) {
	var charged float64
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: adaptersCosmos(t)}, cosmosdb.Options{
		Database: adaptersDatabase, Observe: func(_ context.Context, try cosmosdb.Try) { charged = try.Charge },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := cosmosdb.NewTransactions(db)
	store := func(id, caller, parcel string) (created, replaced float64) {
		p := workflowtest.FullProgress(id)
		p.Caller, p.Request, p.TTL = caller, json.RawMessage(`{"weightKg":1234567}`), 0
		if parcel != "" {
			p.Request = json.RawMessage(`{"packageInfo":{"packageId":"` + parcel + `"}}`)
		}
		etag, err := s.Create(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		created = charged
		if _, err := s.Replace(t.Context(), p, etag); err != nil {
			t.Fatal(err)
		}
		return created, charged
	}
	created, replaced := store("alone", "", "")
	for name, with := range map[string][2]string{"caller": {"ann", ""}, "key": {"", "p-1"}} {
		c, r := store("with a "+name, with[0], with[1])
		// What is longer costs some hundredths.
		if c-created < 0.45 || c-created > 0.55 || r-replaced < 0.9 || r-replaced > 1.1 {
			t.Errorf("a %s adds %.2f RU to a create and %.2f to a replace, want 0.5 and 1", name, c-created, r-replaced)
		}
	}
	lists := map[string]operate.Where{
		"of a caller": {Caller: "ann"}, "by key": {Key: delivery.Business().Key, Value: "p-1"}, "of a state": {States: []workflow.State{workflow.Stuck}},
	}
	before := map[string]float64{}
	for others := range 2 {
		for name, where := range lists {
			if _, _, err := s.Find(t.Context(), where, ""); err != nil {
				t.Fatal(err)
			}
			if others == 0 {
				before[name] = charged
			} else if charged != before[name] || charged > 4 {
				t.Errorf("a list %s costs %.2f RU beside 500 of others, %.2f beside 2", name, charged, before[name])
			}
		}
		for i := range 500 * (1 - others) {
			store(fmt.Sprint("other-", i), "bob", fmt.Sprint("other-", i))
		}
	}
}
