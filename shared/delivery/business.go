package delivery

import (
	"encoding/json"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// Business returns the business: what everything else knows of it.
func Business() business.Business {
	return business.Business{
		Name: "drone-delivery", Resource: "deliveryrequests",
		Workflow: Steps(), Parse: parseRequest, ParseChange: parseChange, Key: "packageInfo.packageId",
		Backends: backends(), Views: views(), Letters: &business.Letters{Ask: askWishes, Write: writeLetter}, Settings: settings(), Rules: rules,
		Ahead: func(v business.Values) time.Duration { return v.Span(pickupHorizon) },
	}
}

// latest is the latest pickup that clients may ask for; the zero time is no limit.
func latest(v business.Values, now time.Time) time.Time {
	if v == nil {
		return time.Time{}
	}
	return now.Add(v.Span(pickupHorizon))
}

func parseRequest(body []byte, v business.Values, now time.Time) (business.Request, error) {
	r, err := Parse(body, latest(v, now))
	if err != nil {
		return business.Request{}, err
	}
	canonical, err := r.Canonical()
	return business.Request{Canonical: canonical, Account: r.OwnerID, AccountField: "ownerId"}, err
}

func parseChange(body []byte, v business.Values, now time.Time) (json.RawMessage, error) {
	c, err := ParseChange(body, latest(v, now))
	if err != nil {
		return nil, err
	}
	return c.Canonical()
}
