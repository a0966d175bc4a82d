// Package customhandler speaks the protocol between the Azure Functions host
// and a custom handler: the host starts the handler as its child, waits until
// its port answers, sends events as POST /<Function> with everything in a JSON
// envelope, and passes HTTP requests on as they are (enableProxyingHttpRequest,
// which hosts know since mid-2025; with enableForwardingHttpRequest beside it
// older ones do, too, where they would answer every request with an empty 500).
//
// The protocol punishes mistakes, which shapes this package: an empty answer
// hangs an invocation until functionTimeout; a timed-out invocation costs the
// whole process; an exit code of 0 leaves a host without a handler. Sources:
// Microsoft Learn, "Azure Functions custom handlers", and the host's source
// (Azure/azure-functions-host, Workers/Http).
//
// Reading order: invocation.go (what arrives), value.go (its encodings),
// event.go (how an event is handled), web.go (the same for HTTP), server.go.
package customhandler
