// Package config reads the configuration of a function app: host.json with its
// AzureFunctionsJobHost__ overrides, one-level function.json files, a local
// settings file and the environment. It reports everything that is wrong at
// once.
//
// AzureFunctionsJobHost__a__b sets host.json's value a.b; members of arrays are
// numbered from 0, and may have gaps. With AzureFunctionsJobHost__functions__0,
// __1 and so on, only the named functions are loaded: the others are not even
// checked. AzureWebJobs.NAME.Disabled leaves a function out, in Azure, too; its
// bindings are not checked here, though the real host resolves their settings.
// A name without a function is ignored, silently by the real host, with a
// warning here.
//
// Sources: Microsoft Learn, "host.json reference for Azure Functions 2.x and
// later" ("functions", "Override host.json values"), "Azure Functions custom
// handlers", "Develop Azure Functions locally"
// (local settings file), and the trigger references of HTTP, timer, Event Hubs
// and Service Bus.
//
// Not emulated, and refused: encrypted local settings, customHandler.http
// routes, enableForwardingHttpRequest without enableProxyingHttpRequest, session-enabled Service Bus triggers,
// output bindings other than http, the data type "stream". Deviations: a
// missing host.json is an error (the real host writes one), and a function
// with a mistake stops the start instead of being left out.
package config
