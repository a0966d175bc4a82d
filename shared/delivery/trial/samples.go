package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/trial"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

var kinds = []trial.Kind{
	{Name: "plain", Text: "package, drone and delivery assigned", End: workflow.Completed, Draw: draw(nil)},
	{Name: "far", Text: "a carrier booked, too", Percent: 8, End: workflow.Completed, Draw: draw(func(d trial.Draw, r *delivery.Request) {
		r.DropOff = near(d.Random, farFrom(r.Pickup), 0.1)
	})},
	{Name: "suspended", Text: "account suspended", Percent: 2, End: workflow.Rejected, Draw: draw(func(_ trial.Draw, r *delivery.Request) {
		r.OwnerID = fmt.Sprintf("owner-%d", suspendedSample)
	})},
	{Name: "unknown", Text: "no such account", Percent: 2, End: workflow.Rejected, Draw: draw(func(d trial.Draw, r *delivery.Request) {
		r.OwnerID = "nobody-" + d.Name
	})},
	{Name: "too heavy", Text: "too heavy for a drone: package and booking undone", Percent: 5, End: workflow.Compensated,
		Draw: draw(func(_ trial.Draw, r *delivery.Request) { r.PackageInfo.WeightKg = 400 })},
	{Name: "malformed", Text: "the fields at fault are named", Percent: 2, Draw: draw(func(_ trial.Draw, r *delivery.Request) {
		r.OwnerID, r.PackageInfo.WeightKg = "", -1
	})},
}

// rivals are how a delivery ends whose package another one has: its booking may have
// to be undone.
var rivals = []workflow.State{workflow.Rejected, workflow.Compensated}

// longest is how long after its pickup a package has to be delivered at the latest.
const longest = 8 * time.Hour

// draw returns how a kind draws its requests: as all others, and then as with says.
func draw(with func(trial.Draw, *delivery.Request)) func(trial.Draw) any {
	return func(d trial.Draw) any {
		pickup := near(d.Random, delivery.Location{Latitude: 47.61, Longitude: -122.33}, 0.2)
		at := d.At.Add(time.Duration(float64(d.Wait) / timeScale)).UTC().Truncate(time.Second)
		r := delivery.Request{
			OwnerID:              fmt.Sprintf("owner-%d", goodAccount(d.Random)),
			Pickup:               pickup,
			DropOff:              near(d.Random, pickup, 0.1),
			PickupTime:           at,
			DeliverBy:            at.Add(longest),
			Expedited:            d.Random.IntN(4) == 0,
			ConfirmationRequired: pick(d.Random, "FingerPrint", "Picture", "Voice", "None"),
			PackageInfo: delivery.PackageInfo{
				PackageID: "package-" + d.Name,
				Size:      pick(d.Random, "Small", "Medium", "Large"),
				WeightKg:  round(0.2+d.Random.Float64()*3, 2),
				Tag:       pick(d.Random, "books", "medicine", "spare part", "groceries"),
			},
		}
		if with != nil {
			with(d, &r)
		}
		return r
	}
}

// change moves the drop-off, one time in ten across the distance from which on a
// carrier is needed.
func change(d trial.Draw, request json.RawMessage) any {
	var r delivery.Request
	_ = json.Unmarshal(request, &r) // it was drawn here
	center := r.Pickup
	if d.Random.IntN(10) == 0 {
		center = farFrom(center)
	}
	return delivery.Change{DropOff: new(near(d.Random, center, 0.1))}
}

// farFrom is too far from a place for a drone.
func farFrom(l delivery.Location) delivery.Location {
	l.Latitude++
	return l
}

// goodAccount draws a sample account that is not suspended.
func goodAccount(random *rand.Rand) int {
	n := 1 + random.IntN(sampleAccounts-1)
	if n >= suspendedSample {
		n++
	}
	return n
}

// near draws a place within about degrees of center.
func near(random *rand.Rand, center delivery.Location, degrees float64) delivery.Location {
	return delivery.Location{
		Latitude:  round(center.Latitude+(random.Float64()*2-1)*degrees, 6),
		Longitude: round(center.Longitude+(random.Float64()*2-1)*degrees, 6),
	}
}

func round(x float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(x*scale) / scale
}

func pick(random *rand.Rand, values ...string) string { return values[random.IntN(len(values))] }
