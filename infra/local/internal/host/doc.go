// Package host is a local Azure Functions host for custom handlers. It reads a
// staged function app (host.json, one folder with a function.json per function,
// the handler's executable), runs the handler as its child, serves the HTTP
// functions and listens for the timer, Event Hubs and Service Bus triggers with
// the official SDKs, so it works with this runtime's emulators, Microsoft's
// emulators and Azure alike.
//
// It follows azure-functions-host 4.x with its sharp edges: the encodings of
// package payload; the restart policy of package process; an answer counts as
// success only with a 2xx status and a JSON body; a function that exceeds
// functionTimeout takes the handler and all its invocations with it; stopping
// is SIGKILL; Event Hubs checkpoints after success and failure; Service Bus
// completes or abandons, and a batch is all or nothing; a request with a
// method that no route serves is 404; a proxied request without a body is sent
// again when the handler dies under it, under the same invocation id
// (proxy_retry.go); paths and headers arrive as Kestrel and YARP leave them
// (path.go, proxy.go); a message that the Service Bus extension can't convert
// never reaches its function.
//
// Sources: Microsoft Learn, "Azure Functions custom handlers", "host.json
// reference", the HTTP, timer, Event Hubs and Service Bus trigger references,
// "Azure Functions error handling and retries"; the source of
// azure-functions-host and its extensions where those are silent.
//
// Deviations, each on purpose:
//   - All mistakes in the configuration are reported together, and stop the
//     start; the real host leaves the mistaken function out.
//   - A 2xx answer with an empty or null body hangs in the real host until
//     functionTimeout. Here it is an error in the log at once, and then treated
//     as that timeout: the handler is killed and starts again.
//   - Event Hubs: when the real host stops while a retry policy waits between
//     two attempts, it may checkpoint the batch that never succeeded. Here that
//     happens on demand only (AwaitRetry); otherwise no batch is checkpointed
//     while the host stops or after its partition went to another owner (see
//     partition.comesAgain).
//   - Checkpoints, ownership and timers are kept in Cosmos DB instead of Blob
//     Storage; AzureWebJobsStorage isn't needed, and the app gets one in which it
//     can list checkpoints and ownership as in Azure (storage.go). Without settings in host.json,
//     load balancing runs every second and ownership expires after ten. Timings
//     can change these and other waits, for runs with faults.
//   - The time zone of NCRONTAB schedules is WEBSITE_TIME_ZONE (an IANA name),
//     or UTC.
//   - A path with a percent sign that begins no escape is 400; the real host
//     passes it on.
//   - The time limit of the front end, 230 s without a byte, which func start
//     doesn't have, is kept here.
//
// What can be broken on purpose: calls to the app's own backends on their way
// through the front (backendfaults.go), the host itself (acts.go), and who makes
// a call (mortal.go).
//
// Not emulated: what the packages config and payload list, CORS, keys other
// than Config.HostKey and Config.MasterKey, watching files for changes, drain
// and restart under /admin/host (404), dynamic concurrency, scaling, telemetry of
// the host's own (telemetryMode), output bindings other than http, Logs of HTTP
// answers in proxying mode.
package host
