package host

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

// serveEnvelope calls an HTTP function in the default mode: the handler gets
// the request as an invocation and answers with an output. A handler's own
// status outside 2xx is a 500 to the caller.
func (h *Host) serveEnvelope(f *config.Function, w http.ResponseWriter, r *http.Request, params map[string]string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.cfg.Logger.Warn("the request body can't be read", "function", f.Name, "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	inv, err := payload.HTTP(f.Trigger.Binding, payload.HTTPRequest{
		URL: "http://" + r.Host + r.URL.RequestURI(), Method: r.Method, Query: r.URL.Query(),
		Header: r.Header, Params: params, Body: body, Length: r.ContentLength,
	})
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	result, err := h.invoke(r.Context(), f, inv, nil)
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	resp, err := payload.DecodeHTTP(outputOf(result, f.HTTPOutput))
	if err != nil {
		h.cfg.Logger.Error(fmt.Sprintf("Functions.%s: the http output can't be read", f.Name), "error", err)
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := w.Write(resp.Body); err != nil {
		h.cfg.Logger.Debug("the client left", "function", f.Name, "error", err)
	}
}

// outputOf finds an output: $return is the return value, and without it the
// keys of an object in the return value count as outputs.
func outputOf(r payload.Result, name string) json.RawMessage {
	if name == "$return" {
		return r.ReturnValue
	}
	if out := r.Output(name); out != nil || name == "" {
		return out
	}
	var fields map[string]json.RawMessage
	if len(r.ReturnValue) > 0 && r.ReturnValue[0] == '{' && json.Unmarshal(r.ReturnValue, &fields) == nil {
		return payload.Result{Outputs: fields}.Output(name)
	}
	return nil
}
