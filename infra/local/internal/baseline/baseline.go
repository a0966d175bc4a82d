// Package baseline holds servers that do the least of what a part of the system
// does: what the machine could do if that cost nothing. A benchmark compares the
// system with them, in the same run. Each runs in a process of its own, so that
// its CPU time can be told from that of others.
package baseline

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"

	"github.com/gorilla/mux"
)

// maxBody bounds what is read of a request, in bytes.
const maxBody = 1 << 20

// Mux returns a handler that accepts what is posted to /api/RESOURCE: it routes by
// gorilla/mux and decodes the JSON, and keeps nothing.
func Mux(resource string) http.Handler {
	var last atomic.Int64
	router := mux.NewRouter()
	router.HandleFunc("/api/"+resource, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		var request any
		if err == nil {
			err = json.Unmarshal(body, &request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		// Nobody to tell when the client has gone.
		_, _ = io.WriteString(w, `{"transactionId":"`+strconv.FormatInt(last.Add(1), 10)+`"}`)
	}).Methods(http.MethodPost)
	return router
}

// proxyConnections is how many idle connections a proxy keeps.
const proxyConnections = 64

// Proxy returns a handler that passes everything on to a URL, as the Functions
// host does with HTTP requests.
func Proxy(to string) (http.Handler, error) {
	target, err := url.Parse(to)
	if err != nil || target.Host == "" {
		return nil, fmt.Errorf("%q is no URL to pass requests on to", to)
	}
	return &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport: &http.Transport{MaxIdleConnsPerHost: proxyConnections},
	}, nil
}
