package fault

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// maxPlanBytes bounds the body of a PUT: a plan has a number per point.
const maxPlanBytes = 64 << 10

// report is what GET /faults answers.
type report struct {
	Plan   Plan            `json:"plan"`
	Counts map[Point]Count `json:"counts"`
	Points []Info          `json:"points"`
}

// Admin serves an injector over HTTP. GET /faults answers with the plan in
// force, the counts and all points that there are; PUT /faults puts the plan of
// its body in force, whole, and answers likewise. A body that is no valid plan
// changes nothing and is answered 400 with everything that is wrong with it.
func Admin(in *Injector) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /faults", func(w http.ResponseWriter, _ *http.Request) { writeReport(w, in) })
	mux.HandleFunc("PUT /faults", func(w http.ResponseWriter, r *http.Request) {
		if p := set(w, r, in); p != nil {
			problem.Write(w, r, *p)
			return
		}
		writeReport(w, in)
	})
	return mux
}

// set puts the plan of a request in force.
func set(w http.ResponseWriter, r *http.Request, in *Injector) *problem.Problem {
	var plan Plan
	if p := problem.ReadJSON(w, r, maxPlanBytes, &plan); p != nil {
		return p
	}
	err := in.Set(plan)
	if err == nil {
		return nil
	}
	p := problem.New(problem.Invalid, "")
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		for _, e := range joined.Unwrap() {
			p.Errors = append(p.Errors, problem.Field{Detail: e.Error()})
		}
	}
	return p
}

func writeReport(w http.ResponseWriter, in *Injector) {
	out := report{Plan: in.Plan(), Counts: in.Counts(), Points: Points}
	if out.Plan.Rates == nil {
		out.Plan.Rates = map[Point]float64{}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	// A client that is gone can't be told that it is.
	_ = json.NewEncoder(w).Encode(out)
}
