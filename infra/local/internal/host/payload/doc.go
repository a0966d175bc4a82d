// Package payload encodes the Functions host's posts to a custom handler and
// decodes the handler's answers. It is pure: no network, no clock.
//
// The encodings are those of the real host, with their sharp edges: strings
// are JSON twice, numbers are strings, dates lose their fraction and zone, and
// the fields of a JSON body leak into the metadata.
//
// Sources: Microsoft Learn, "Azure Functions custom handlers" (request and
// response payload); behaviour of azure-functions-host 4.x and of the Event
// Hubs and Service Bus extensions 5.x, written as Newtonsoft.Json writes it.
//
// Not emulated: DataContract-serialised string bodies of Service Bus messages
// (refused with the extension's error), stream bindings, .NET type names in
// exceptions.
package payload
