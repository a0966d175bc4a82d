package trial

import (
	"encoding/json"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/delivery/account"
	"github.com/fabrikam/drone-delivery/shared/delivery/value"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func (w *world) checkCustomers(f *trial.Findings) {
	w.completed(func(p *workflow.Progress) {
		f.Checked++
		w.checkAccount(p, f)
	})
}

// checkAccount wants the owner to be a customer, who was active when it was
// asked for. Accounts may change later.
func (w *world) checkAccount(p *workflow.Progress, f *trial.Findings) {
	var request delivery.Request
	var seen account.Account
	err := json.Unmarshal(p.Request, &request)
	if s := p.Step(delivery.StepAccount); s != nil && err == nil {
		err = json.Unmarshal(s.Result, &seen)
	}
	if err != nil {
		f.Broken(p.ID, "account", "request or answer can't be read: %v", err)
		return
	}
	if seen.ID != request.OwnerID || seen.Status != account.Active {
		f.Broken(p.ID, "account", "the owner is %s, and account %q was found %s", request.OwnerID, seen.ID, seen.Status)
	}
	if w.accounts[request.OwnerID] == nil {
		f.Broken(p.ID, "account", "there is no account %s", request.OwnerID)
	}
}

func (w *world) checkCarriers(f *trial.Findings) {
	for id, r := range trial.Sorted(w.bookings) {
		if !r.Live() {
			continue
		}
		f.Checked++
		b := r.Content
		if booked := b.Carrier != "" && b.BookingID != ""; booked != b.Required || !booked && b.Carrier+b.BookingID != "" {
			f.Broken(id, "carrier", "needed: %t, booked: %q with %q", b.Required, b.BookingID, b.Carrier)
		}
		if want := value.DistanceKm(b.Pickup, b.DropOff); b.DistanceKm != want {
			f.Broken(id, "carrier", "it was decided for %g km, the way has %g km", b.DistanceKm, want)
		}
	}
}
