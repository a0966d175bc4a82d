package recordtest

import (
	"log/slog"
	"net/http"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Mount adds endpoints to a router, in their order, as the handler does. log gets
// what clients are not told of a failure of the service itself.
func Mount(router *mux.Router, log *slog.Logger, endpoints []business.Endpoint) {
	for _, e := range endpoints {
		router.HandleFunc("/"+e.Path, func(w http.ResponseWriter, r *http.Request) {
			err := e.Handle(w, r)
			if err == nil {
				return
			}
			p := problem.From(err)
			if p.Status >= http.StatusInternalServerError {
				log.ErrorContext(r.Context(), "backend failed", telemetry.KeyMethod, e.Method, telemetry.KeyPath, r.URL.Path,
					telemetry.KeyStatus, p.Status, telemetry.KeyError, err)
			}
			problem.Write(w, r, p)
		}).Methods(e.Method)
	}
}
