package customhandler

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/problem"
)

// Router serves events at /<Function>, and requests at the paths of the HTTP
// functions. What it doesn't know is answered with a problem. Paths are taken as
// they are: a redirect to a cleaned one would turn a PUT into a GET. It is built
// before it serves, and is safe for concurrent use then.
type Router struct {
	mux      *mux.Router
	methods  map[string]byMethod // by path
	observer Observer
	logger   *slog.Logger
}

// NewRouter returns an empty router.
func NewRouter(observer Observer, logger *slog.Logger) *Router {
	r := &Router{mux: mux.NewRouter().SkipClean(true), methods: map[string]byMethod{}, observer: observer, logger: logger}
	r.mux.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, r, *problem.New(problem.NotFound, "there is nothing at this path"))
	})
	return r
}

// Event adds a function that events are for.
func (r *Router) Event(function string, next http.Handler) {
	r.mux.Path("/" + function).Handler(next)
}

// Request adds a method of a path, which is a template of gorilla/mux, of an HTTP
// function. Of two paths that fit a request, the one that was added first serves
// it; a path may belong to several functions.
func (r *Router) Request(function, method, path string, next http.Handler) {
	if r.methods[path] == nil {
		r.methods[path] = byMethod{}
		r.mux.Path(path).Handler(r.methods[path])
	}
	r.methods[path][method] = Web(function, path, r.observer, r.logger, next)
}

// ServeHTTP answers what the host sends.
func (r *Router) ServeHTTP(w http.ResponseWriter, request *http.Request) { r.mux.ServeHTTP(w, request) }

// byMethod are the handlers of one path, which may belong to several
// functions.
type byMethod map[string]http.Handler

// ServeHTTP hands the request to the handler of its method. HEAD is answered as
// GET is; the server leaves the body out.
func (m byMethod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if handler, ok := m[method]; ok {
		handler.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for method := range m {
		allowed = append(allowed, method)
	}
	slices.Sort(allowed)
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	problem.Write(w, r, *problem.New(problem.MethodNotAllowed, "allowed: %s", list))
}
