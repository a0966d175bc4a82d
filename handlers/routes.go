package main

import (
	"net/http"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/page"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/telemetry/observe"
)

// routePrefix is that of host.json, with which the host passes HTTP requests
// on.
const routePrefix = "/api"

// The triggers, as function.json names them.
const (
	httpTrigger       = "httpTrigger"
	eventHubTrigger   = "eventHubTrigger"
	serviceBusTrigger = "serviceBusTrigger"
	timerTrigger      = "timerTrigger"
)

// function is one function of the app, as this code knows it. A test holds the
// table to functions/*/function.json and to docs/openapi.yaml.
type function struct {
	name    string
	trigger string
	binding string // the name of the trigger's binding

	// An event's:
	source  string // the setting that names where it comes from
	event   customhandler.EventFunc
	timeout time.Duration // of an event, where it is more than the setting's

	// An HTTP function's:
	template  string           // the host's route
	anonymous bool             // anyone may call; otherwise see roles
	roles     []auth.Role      // any of which a caller needs; with AUTH_MODE keys, a function key instead
	limited   bool             // counted against the caller's rate limit
	throttle  *ingest.Throttle // in front of all else; nil for none
	endpoints []endpoint
}

// endpoint is one method of one path of an HTTP function.
type endpoint struct {
	method string
	path   string // a template of gorilla/mux below the prefix
	handle http.Handler
}

// methods returns the methods of a function's endpoints.
func (f function) methods() []string {
	var methods []string
	for _, e := range f.endpoints {
		if !slices.Contains(methods, e.method) {
			methods = append(methods, e.method)
		}
	}
	return methods
}

// Who may call. The backends' callers are our own Schedule and Supervise, which
// have limits of their own.
var (
	clients                = []auth.Role{auth.Client}
	schedulers             = []auth.Role{auth.Scheduler}
	operators              = []auth.Role{auth.Operator}
	schedulersAndOperators = []auth.Role{auth.Scheduler, auth.Operator}
)

// table is every function of the app but those of the backends.
func (a *App) table() []function {
	s, q := a.services, a.settings
	return []function{
		{name: "Ingest", trigger: httpTrigger, binding: "req", template: a.business.Resource + "/{id?}", roles: clients, limited: true,
			throttle: ingest.NewThrottle(q.Budgets.AcceptTarget), endpoints: a.ingestEndpoints()},
		{name: "Progress", trigger: httpTrigger, binding: "req", template: a.business.Resource + "/{id}/{*rest}", roles: clients, limited: true,
			endpoints: a.progressEndpoints()},
		{name: "Relay", trigger: eventHubTrigger, binding: "events", source: "%EVENTHUB_NAME%", event: a.relay, timeout: q.LongestBatch(a.business)},
		{name: "Schedule", trigger: serviceBusTrigger, binding: "message", source: "%TRANSACTIONS_QUEUE%",
			event: a.heldBack(a.work(q.TransactionsQueue, s.engine.Schedule))},
		{name: "Supervise", trigger: serviceBusTrigger, binding: "message", source: "%COMPENSATIONS_QUEUE%",
			event: a.heldBack(a.work(q.CompensationsQueue, s.engine.Supervise))},
		{name: "DeadLetterTransactions", trigger: serviceBusTrigger, binding: "message", source: "%TRANSACTIONS_QUEUE%/$deadletterqueue",
			event: a.heldBack(a.deadLetter(q.TransactionsQueue, s.quarantine.DeadLetter))},
		{name: "DeadLetterCompensations", trigger: serviceBusTrigger, binding: "message", source: "%COMPENSATIONS_QUEUE%/$deadletterqueue",
			event: a.heldBack(a.deadLetter(q.CompensationsQueue, s.quarantine.DeadLetter))},
		{name: "Notify", trigger: serviceBusTrigger, binding: "message", source: "%NOTIFICATIONS_QUEUE%",
			event: a.heldBack(a.work(q.NotificationsQueue, s.notify.Handle))},
		{name: "DeadLetterNotifications", trigger: serviceBusTrigger, binding: "message", source: "%NOTIFICATIONS_QUEUE%/$deadletterqueue",
			event: a.heldBack(a.deadLetter(q.NotificationsQueue, a.deadNotice))},
		{name: "Sweep", trigger: timerTrigger, binding: "timer", source: "%SWEEP_SCHEDULE%", event: a.sweep},
		{name: "Operations", trigger: httpTrigger, binding: "req", template: operate.Path + "/{*path}", roles: operators, limited: true,
			endpoints: a.answeringAll(s.operate.Endpoints())},
		{name: "Page", trigger: httpTrigger, binding: "req", template: page.Path + "/{*file}", anonymous: true,
			endpoints: a.answeringAll(page.Endpoints(a.business.Name, q.Auth))},
		{name: "Live", trigger: httpTrigger, binding: "req", template: "live", anonymous: true,
			endpoints: []endpoint{{http.MethodGet, "live", a.answering(live)}}},
		{name: "Ready", trigger: httpTrigger, binding: "req", template: "ready", anonymous: true,
			endpoints: []endpoint{{http.MethodGet, "ready", a.answering(a.ready)}}},
	}
}

// backendFunctions are the functions of the business's backends.
func (a *App) backendFunctions(endpoints map[string][]business.Endpoint) []function {
	var out []function
	for _, backend := range a.business.Backends {
		for _, f := range backend.Functions {
			roles := schedulers
			if f.Operators {
				roles = schedulersAndOperators
			}
			out = append(out, function{name: f.Name, trigger: httpTrigger, binding: "req", template: f.Route, roles: roles,
				endpoints: a.answeringAll(endpoints[f.Name])})
		}
	}
	return out
}

func (a *App) answeringAll(endpoints []business.Endpoint) []endpoint {
	out := make([]endpoint, len(endpoints))
	for i, e := range endpoints {
		out[i] = endpoint{e.Method, e.Path, a.answering(e.Handle)}
	}
	return out
}

// guard returns an endpoint of f behind the gate.
func (a *App) guard(f function, endpoint http.Handler) http.Handler {
	if f.anonymous {
		return endpoint
	}
	return a.answering(func(w http.ResponseWriter, r *http.Request) error {
		ctx, err := a.gate.Admit(w, r, f.roles, f.limited)
		if err != nil {
			return err
		}
		endpoint.ServeHTTP(w, r.WithContext(ctx))
		return nil
	})
}

// callerOf returns the opaque id of who calls, "" when callers have no tokens.
func callerOf(r *http.Request) string {
	caller, _ := auth.CallerIn(r.Context())
	return caller.ID
}

// answering returns a handler that answers the error of fn with its problem,
// and logs what the client is not told of a failure of the system itself.
func (a *App) answering(fn func(w http.ResponseWriter, r *http.Request) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := fn(w, r)
		if err == nil {
			return
		}
		a.report.Refused(err)
		p := refusal(err)
		observe.NoteRefusal(r.Context(), p)
		if p.Status >= http.StatusInternalServerError {
			a.logger.WarnContext(r.Context(), "request failed", telemetry.KeyMethod, r.Method, telemetry.KeyPath, r.URL.Path,
				telemetry.KeyStatus, p.Status, telemetry.KeyError, err)
		}
		problem.Write(w, r, p)
	})
}

// running returns the functions of the table that the host runs here.
func (a *App) running(table []function) []function {
	return slices.DeleteFunc(table, func(f function) bool { return !a.settings.Functions.Has(f.name) })
}

// router serves the events and the HTTP functions, each behind its guard.
func (a *App) router(observer customhandler.Observer) http.Handler {
	router := customhandler.NewRouter(observer, a.logger)
	for _, f := range a.functions {
		if f.event != nil {
			router.Event(f.name, a.events.Handler(f.name, f.timeout, f.event))
		}
		for _, e := range f.endpoints {
			guarded := a.guard(f, e.handle)
			if f.throttle != nil {
				guarded = a.throttled(f.throttle, guarded)
			}
			router.Request(f.name, e.method, routePrefix+"/"+e.path, guarded)
		}
	}
	return router
}
