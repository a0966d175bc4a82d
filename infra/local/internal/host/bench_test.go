package host

import (
	"io"
	"net/http"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// injectors are what a host may have while nothing is to be broken.
func injectors(b *testing.B) map[string]*fault.Injector {
	b.Helper()
	empty := fault.New()
	if err := empty.Set(fault.Plan{Seed: 1}); err != nil {
		b.Fatal(err)
	}
	return map[string]*fault.Injector{"no injector": nil, "no plan": fault.New(), "empty plan": empty}
}

// BenchmarkBackendCall is a call of the workflow to a backend, from the client
// over the host to the handler and back, while nothing is to be broken.
//
//	go test -run '^$' -bench BackendCall -count 8 ./infra/local/internal/host
func BenchmarkBackendCall(b *testing.B) {
	for name, faults := range injectors(b) {
		b.Run(name, func(b *testing.B) {
			f := start(b, spec{
				proxy: true, functions: map[string]string{"Packages": httpFunctionJSON("anonymous", `"get"`, "packages")},
				change: func(c *Config) { c.Faults, c.Backends = faults, []string{"Packages"} },
			})
			req, err := http.NewRequest("GET", f.url+"/api/packages", nil)
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set(headerTransaction, "tx")
			b.ReportAllocs()
			for b.Loop() {
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

// BenchmarkBreakable is what the faults add to a call, without the call.
func BenchmarkBreakable(b *testing.B) {
	for name, faults := range injectors(b) {
		b.Run(name, func(b *testing.B) {
			c, _ := configure(b, spec{
				proxy: true, functions: map[string]string{"Packages": httpFunctionJSON("anonymous", `"get"`, "packages")},
				change: func(c *Config) { c.Faults, c.Backends = faults, []string{"Packages"} },
			})
			defer c.Listener.Close()
			h, err := New(c)
			if err != nil {
				b.Fatal(err)
			}
			serve := h.breakable(&h.app.Functions[0], func(http.ResponseWriter, *http.Request, map[string]string) {})
			r := &http.Request{Header: http.Header{headerTransaction: {"tx"}}}
			b.ReportAllocs()
			for b.Loop() {
				serve(nil, r, nil)
			}
		})
	}
}
