// Package load sends requests to an app at planned rates, however the app
// copes, and measures what clients see.
//
// The loop is open: a request is due at its moment, even if the app still works
// on earlier requests, and its latency counts from that moment. A tool that
// waits for answers before it continues leaves out the requests that wait
// longest (coordinated omission).
//
// Reading order: shape.go (when requests are due), run.go (the loop), closed.go
// (as fast as the app can), http.go (a request), latency.go, app.go (the app's
// own figures), table.go and plot.go (what people see).
package load
