package host

import (
	"fmt"
	"io"
	"net/http"
)

// The real host has nothing like this: a scrape from outside would meet any of
// the instances, and another one the next time. Here each instance has an
// address of its own.
const (
	handlerMetrics = "/metrics"           // at the handler's port
	metricsSetting = "PROMETHEUS_METRICS" // of the app
)

// metricsPath is where the metrics of the handler are shown, "" if it has none.
func (h *Host) metricsPath() string {
	if shown, _ := h.app.Settings.Lookup(metricsSetting); shown != "true" {
		return ""
	}
	if prefix := h.app.Host.HTTP.RoutePrefix; prefix != "" {
		return "/" + prefix + handlerMetrics
	}
	return handlerMetrics
}

// serveMetrics passes the handler's page on.
func (h *Host) serveMetrics(w http.ResponseWriter, r *http.Request) {
	if err := h.awaitHandler(r.Context()); err != nil {
		fail(w, http.StatusServiceUnavailable, "the handler is not ready")
		return
	}
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, h.url+handlerMetrics, nil)
	if err != nil {
		fail(w, http.StatusInternalServerError, fmt.Sprintf("metrics: %v", err))
		return
	}
	req.Header.Set("Accept", r.Header.Get("Accept"))
	resp, err := h.client.Do(req)
	if err != nil {
		fail(w, http.StatusBadGateway, "the handler did not answer")
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Content-Type", resp.Header.Get("Content-Type"))
	w.WriteHeader(resp.StatusCode)
	if _, err := io.Copy(w, resp.Body); err != nil {
		h.cfg.Logger.Debug("the client left", "path", r.URL.Path, "error", err)
	}
}
