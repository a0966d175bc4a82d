package delivery

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

const full = `{
	"ownerId": "owner-1",
	"pickup": {"latitude": 47.6, "longitude": -122.3, "altitude": 12.5},
	"dropOff": {"latitude": 47.7, "longitude": -122.1},
	"pickupTime": "2026-01-31T16:00:00+01:00",
	"deliverBy": "2026-01-31T18:00:00.5Z",
	"expedited": true,
	"confirmationRequired": "Picture",
	"packageInfo": {"packageId": "p-1", "size": "Small", "weightKg": 1.5, "tag": "fragile"}
}`

// with returns full with one text replaced; it must be there.
func with(t *testing.T, old, text string) string {
	t.Helper()
	if strings.Count(full, old) != 1 {
		t.Fatalf("%q is not there once", old)
	}
	return strings.Replace(full, old, text, 1)
}

// faults returns the pointers of what the error says is wrong.
func faults(err error) []string {
	p := problem.From(err)
	var pointers []string
	for _, f := range p.Errors {
		pointers = append(pointers, f.Pointer)
	}
	return pointers
}

func TestParse(t *testing.T) {
	got, err := Parse([]byte(full), time.Time{})
	want := Request{
		OwnerID:              "owner-1",
		Pickup:               Location{Latitude: 47.6, Longitude: -122.3, Altitude: 12.5},
		DropOff:              Location{Latitude: 47.7, Longitude: -122.1},
		PickupTime:           time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC),
		DeliverBy:            time.Date(2026, 1, 31, 18, 0, 0, 5e8, time.UTC),
		Expedited:            true,
		ConfirmationRequired: "Picture",
		PackageInfo:          PackageInfo{PackageID: "p-1", Size: "Small", WeightKg: 1.5, Tag: "fragile"},
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestParseListsEveryFault(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"owner with a space", with(t, `"owner-1"`, `"owner 1"`), []string{"/ownerId"}},
		{"owner of dots", with(t, `"owner-1"`, `".."`), []string{"/ownerId"}},
		{"owner a number", with(t, `"owner-1"`, `1`), []string{"/ownerId"}},
		{"owner null", with(t, `"owner-1"`, `null`), []string{"/ownerId"}},
		{"latitude too high", with(t, `47.6`, `90.1`), []string{"/pickup/latitude"}},
		{"latitude no number", with(t, `47.6`, `"47.6"`), []string{"/pickup/latitude"}},
		{"latitude too large for a number", with(t, `47.6`, `1e999`), []string{"/pickup/latitude"}},
		{"longitude too low", with(t, `-122.3`, `-180.5`), []string{"/pickup/longitude"}},
		{"altitude too high", with(t, `12.5`, `1e5`), []string{"/pickup/altitude"}},
		{"longitude missing", with(t, `, "longitude": -122.1`, ``), []string{"/dropOff/longitude"}},
		{"location empty", with(t, `{"latitude": 47.7, "longitude": -122.1}`, `{}`),
			[]string{"/dropOff/latitude", "/dropOff/longitude"}},
		{"location an array", with(t, `{"latitude": 47.7, "longitude": -122.1}`, `[1]`), []string{"/dropOff"}},
		{"location null", with(t, `{"latitude": 47.7, "longitude": -122.1}`, `null`), []string{"/dropOff"}},
		{"time without a zone", with(t, `2026-01-31T18:00:00.5Z`, `2026-01-31T18:00:00`), []string{"/deliverBy"}},
		{"day that is none", with(t, `2026-01-31T18:00:00.5Z`, `2026-02-30T18:00:00Z`), []string{"/deliverBy"}},
		{"year 9999", with(t, `2026-01-31T18:00:00.5Z`, `9999-12-31T23:59:59-01:00`), []string{"/deliverBy"}},
		{"deliverBy at the pickup", with(t, `2026-01-31T18:00:00.5Z`, `2026-01-31T15:00:00Z`), []string{"/deliverBy"}},
		{"expedited a string", with(t, `true`, `"true"`), []string{"/expedited"}},
		{"confirmation unknown", with(t, `"Picture"`, `"picture"`), []string{"/confirmationRequired"}},
		{"size unknown", with(t, `"Small"`, `"Tiny"`), []string{"/packageInfo/size"}},
		{"weight 0", with(t, `1.5`, `0`), []string{"/packageInfo/weightKg"}},
		{"weight negative", with(t, `1.5`, `-1`), []string{"/packageInfo/weightKg"}},
		{"tag too long", with(t, `fragile`, strings.Repeat("ä", 129)), []string{"/packageInfo/tag"}},
		{"unknown field", with(t, `"expedited"`, `"deliveryId": "x", "expedited"`), []string{"/deliveryId"}},
		{"other case", with(t, `"dropOff"`, `"dropoff"`), []string{"/dropoff"}},
		{"twice", with(t, `"expedited"`, `"ownerId": "x", "expedited"`), []string{"/ownerId"}},
		{"no object", `[]`, []string{""}},
		{"nothing in it", `{}`, []string{"/ownerId", "/pickup", "/dropOff", "/pickupTime", "/deliverBy", "/packageInfo"}},
		{"kinds of faults together",
			`{"x": 1, "ownerId": 5, "pickup": {"latitude": true}, "dropOff": {"latitude": 91, "longitude": 0},
			  "pickupTime": 3, "deliverBy": "soon", "packageInfo": {"packageId": "p", "size": "Big", "weightKg": "1"}}`,
			[]string{"/x", "/ownerId", "/pickup/latitude", "/pickupTime", "/packageInfo/weightKg",
				"/pickup/longitude", "/dropOff/latitude", "/deliverBy", "/packageInfo/size"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Parse([]byte(tt.body), time.Time{})
			if err == nil {
				t.Fatalf("accepted: %+v", got)
			}
			if diff := cmp.Diff(tt.want, faults(err)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Ensure that a pickup is taken up to the limit and no later, that it is one fault
// of all, and that deliverBy has no limit.
func TestPickupHorizon(t *testing.T) {
	const pickup = "2026-01-31T16:00:00+01:00"
	latest := time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC)
	tooFar := with(t, pickup, "2026-01-31T15:00:00.000000001Z")
	for _, tt := range []struct {
		name, body string
		latest     time.Time
		want       []string
	}{
		{"at the limit", full, latest, nil},
		{"past it", tooFar, latest, []string{"/pickupTime"}},
		{"no limit", with(t, pickup, "2026-01-31T17:00:00Z"), time.Time{}, nil},
		{"deliverBy years ahead", with(t, "2026-01-31T18:00:00.5Z", "9998-01-01T00:00:00Z"), latest, nil},
		{"beside others", strings.Replace(tooFar, "1.5", "0", 1), latest, []string{"/packageInfo/weightKg", "/pickupTime"}},
		{"and after deliverBy", with(t, pickup, "2026-01-31T19:00:00Z"), latest, []string{"/pickupTime", "/deliverBy"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.body), tt.latest)
			if diff := cmp.Diff(tt.want, faults(err)); diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
	for change, want := range map[string][]string{
		`{"pickupTime":"2026-01-31T15:00:00Z"}`:                                        nil,
		`{"deliverBy":"9998-01-01T00:00:00Z"}`:                                         nil,
		`{"pickupTime":"2026-01-31T15:00:01Z"}`:                                        {"/pickupTime"},
		`{"pickupTime":"2026-01-31T15:00:01Z","pickup":{"latitude":99,"longitude":0}}`: {"/pickup/latitude", "/pickupTime"},
	} {
		_, err := ParseChange([]byte(change), latest)
		if diff := cmp.Diff(want, faults(err)); diff != "" {
			t.Errorf("%s: %v\n%s", change, err, diff)
		}
	}
	_, err := Parse([]byte(tooFar), latest)
	if p := problem.From(err); len(p.Errors) != 1 ||
		p.Errors[0].Detail != "must not be after 2026-01-31T15:00:00Z, further ahead than deliveries are taken" {
		t.Errorf("the client is told %+v", p.Errors)
	}
}

func TestParseRefusesWhatIsNoJSON(t *testing.T) {
	for _, body := range []string{"", " ", "{", full + "{}", "nope", "{\"ownerId\":\"\xff\"}"} {
		_, err := Parse([]byte(body), time.Time{})
		if p := problem.From(err); p.Type != problem.Malformed.ID {
			t.Errorf("%q: %v", body, err)
		}
	}
}

func TestCanonicalIsOneForm(t *testing.T) {
	const want = `{"ownerId":"o","pickup":{"latitude":0,"longitude":0},"dropOff":{"latitude":1.5,"longitude":2},` +
		`"pickupTime":"2026-01-31T15:00:00Z","deliverBy":"2026-01-31T16:00:00Z","expedited":false,` +
		`"confirmationRequired":"None","packageInfo":{"packageId":"p","size":"Large","weightKg":2}}`
	for _, body := range []string{
		want,
		`{"packageInfo":{"weightKg":2.0,"size":"Large","packageId":"p","tag":""},"deliverBy":"2026-01-31T18:00:00.000+02:00",
		  "pickupTime":"2026-01-31T15:00:00Z","dropOff":{"longitude":2e0,"latitude":1.50},"pickup":{"longitude":0,"latitude":-0.0,"altitude":0},
		  "ownerId":"\u006f"}`,
	} {
		r, err := Parse([]byte(body), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Canonical()
		if err != nil || string(got) != want {
			t.Errorf("got %s, %v", got, err)
		}
	}
}

func TestParseChange(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string // faults
	}{
		{"pickup", `{"pickup":{"latitude":1,"longitude":2}}`, nil},
		{"dropOff", `{"dropOff":{"latitude":1,"longitude":2}}`, nil},
		{"pickupTime", `{"pickupTime":"2026-01-31T15:00:00Z"}`, nil},
		{"deliverBy", `{"deliverBy":"2026-01-31T15:00:00Z"}`, nil},
		{"both times", `{"pickupTime":"2026-01-31T15:00:00Z","deliverBy":"2026-01-31T16:00:00Z"}`, nil},
		{"nothing", `{}`, []string{""}},
		{"only nulls", `{"pickup":null,"deliverBy":null}`, []string{""}},
		{"what can't change", `{"ownerId":"o"}`, []string{"/ownerId"}},
		{"order", `{"pickupTime":"2026-01-31T16:00:00Z","deliverBy":"2026-01-31T16:00:00Z"}`, []string{"/deliverBy"}},
		{"several", `{"pickup":{},"dropOff":{"latitude":99,"longitude":0},"pickupTime":"x"}`,
			[]string{"/pickup/latitude", "/pickup/longitude", "/dropOff/latitude", "/pickupTime"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := ParseChange([]byte(tt.body), time.Time{})
			if diff := cmp.Diff(tt.want, faults(err)); err != nil && diff != "" || (err != nil) != (tt.want != nil) {
				t.Fatalf("%v\n%s", err, diff)
			}
			if err != nil {
				return
			}
			data, err := c.Canonical()
			if err != nil || string(data) != tt.body {
				t.Errorf("canonical %s, %v", data, err)
			}
		})
	}
}

func TestMerge(t *testing.T) {
	r, err := Parse([]byte(full), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	later := r.DeliverBy.Add(time.Hour)
	there := Location{Latitude: 1, Longitude: 2}
	got, err := r.Merge(Change{Pickup: &there, DropOff: &there, DeliverBy: &later})
	want := r
	want.Pickup, want.DropOff, want.DeliverBy = there, there, later
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = r.Merge(Change{PickupTime: &later})
	if diff := cmp.Diff([]string{"/deliverBy"}, faults(err)); diff != "" {
		t.Error(diff)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{full, `{}`, `[]`, `{"pickup":{"latitude":1e999}}`, `{"ownerId":"a","ownerId":"b"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data, time.Time{})
		if err != nil {
			if p := problem.From(err); p.Status != 400 {
				t.Fatalf("status %d: %v", p.Status, err)
			}
			return
		}
		canonical, err := r.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(canonical, time.Time{})
		if err != nil || again != r {
			t.Fatalf("%s is read as %+v, %v", canonical, again, err)
		}
	})
}

func FuzzParseChange(f *testing.F) {
	f.Add([]byte(full), []byte(`{"pickup":{"latitude":1,"longitude":2}}`))
	f.Add([]byte(full), []byte(`{"deliverBy":"2026-01-31T15:00:00Z"}`))
	f.Fuzz(func(t *testing.T, request, change []byte) {
		merged, err := merge(request, change)
		if err != nil {
			return
		}
		if _, err := Parse(merged, time.Time{}); err != nil {
			t.Fatalf("%s: %v", merged, err)
		}
		var c Change
		if err := json.Unmarshal(change, &c); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkParse reads and validates a client's request.
func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse([]byte(full), time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}
