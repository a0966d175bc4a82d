// Package load sends requests to an app at rates that are planned, whatever the
// app makes of them, and measures what clients see.
//
// The loop is open: a request is due at its moment, also when the app still
// works on those before, and its latency counts from that moment. A tool that
// waits for answers before it sends on would leave out just the requests that
// wait longest (coordinated omission).
//
// Reading order: shape.go (when requests are due), run.go (the loop), closed.go
// (as fast as the app can), http.go (a request), latency.go, app.go (what the app
// tells of itself), table.go and plot.go (what people see).
package load
