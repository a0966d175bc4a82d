// Package config reads the configuration of a function app: host.json with its
// AzureFunctionsJobHost__ overrides, one-level function.json files,
// local.settings.json and the environment. It reports everything that is wrong
// at once.
//
// Sources: Microsoft Learn, "host.json reference for Azure Functions 2.x and
// later", "Azure Functions custom handlers", "Develop Azure Functions locally"
// (local settings file), and the trigger references of HTTP, timer, Event Hubs
// and Service Bus.
//
// Not emulated, and refused: encrypted local settings, customHandler.http
// routes, enableForwardingHttpRequest, session-enabled Service Bus triggers,
// output bindings other than http, the data type "stream". Deviations: a
// missing host.json is an error (the real host writes one), and a function
// with a mistake stops the start instead of being left out.
package config
