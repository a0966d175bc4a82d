package cosmosdb

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Try is one try of an operation: the client makes several of one that is
// throttled or breaks.
type Try struct {
	Container string // "" for an operation on the account or the database
	Method    string // of HTTP
	Status    int    // 0 when there was no answer
	// Charge is what the try cost, in request units.
	Charge float64
	Began  time.Time
	Took   time.Duration
}

// Throttled reports whether the service had too much to do.
func (t Try) Throttled() bool { return t.Status == http.StatusTooManyRequests }

// Failed reports whether the try got no answer, or one that is tried again. A
// conflict or an absent document is what a caller has to count with.
func (t Try) Failed() bool {
	return t.Status == 0 || t.Status == http.StatusRequestTimeout || t.Status == statusRetryWith || t.Throttled() || t.Status >= 500
}

// observer is the part of the client's pipeline that tells of each try.
type observer func(ctx context.Context, t Try)

// Do makes a try and tells of it.
func (o observer) Do(req *policy.Request) (*http.Response, error) {
	raw := req.Raw()
	t := Try{Container: containerOf(raw.URL.Path), Method: raw.Method, Began: time.Now()}
	response, err := req.Next()
	t.Took = time.Since(t.Began)
	if err == nil {
		t.Status = response.StatusCode
		// https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers
		if charge, err := strconv.ParseFloat(response.Header.Get("x-ms-request-charge"), 64); err == nil {
			t.Charge = charge
		}
	}
	telemetry.AddCharge(raw.Context(), t.Charge)
	o(raw.Context(), t)
	return response, err
}

// containerOf returns the container in a path such as
// /dbs/delivery/colls/transactions/docs/t-1.
func containerOf(path string) string {
	_, rest, found := strings.Cut(path, "/colls/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
