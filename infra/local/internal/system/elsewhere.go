package system

import (
	"net"
	"net/url"
	"strings"
)

// connections are those of the app: the setting with the connection string, and
// the one with the address of a service that is reached by identity.
var connections = []struct{ name, identity string }{
	{"EventHubs", "EventHubs__fullyQualifiedNamespace"},
	{"ServiceBus", "ServiceBus__fullyQualifiedNamespace"},
	{"CosmosDB", "CosmosDB__accountEndpoint"},
}

// elsewhere returns where the local settings file has the services that are not
// the emulators at these endpoints, by the name of their connection. A
// connection string for an emulator's own address means that emulator.
func (e environment) elsewhere(at Endpoints) map[string]string {
	places := map[string]string{}
	for _, c := range connections {
		emulator := at.AMQP
		if c.name == "CosmosDB" {
			emulator = at.Cosmos
		}
		if text := e.file[c.name]; text != "" {
			if place := placeOf(text); !sameLoopback(place, emulator) {
				places[c.name] = place
			}
		} else if place := e.file[c.identity]; place != "" {
			places[c.name] = place
		}
	}
	return places
}

// placeOf returns host and port of the endpoint in a connection string. It shows
// nothing else of it.
func placeOf(connection string) string {
	port := "5671"
	var endpoint *url.URL
	for part := range strings.SplitSeq(connection, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch strings.ToLower(name) {
		case "endpoint", "accountendpoint":
			endpoint, _ = url.Parse(value) // without one the clients tell what is wrong
		case "usedevelopmentemulator":
			port = "5672"
		}
	}
	if endpoint == nil || endpoint.Host == "" {
		return "an address that can't be read"
	}
	switch {
	case endpoint.Port() != "":
		return endpoint.Host
	case endpoint.Scheme == "https":
		port = "443"
	case endpoint.Scheme == "http":
		port = "80"
	}
	return net.JoinHostPort(endpoint.Hostname(), port)
}

// sameLoopback reports whether a place is the address of a listener of this
// machine, by whatever name.
func sameLoopback(place, address string) bool {
	host, port, err := net.SplitHostPort(place)
	_, listens, err2 := net.SplitHostPort(address)
	return err == nil && err2 == nil && port == listens && (strings.EqualFold(host, "localhost") || net.ParseIP(host).IsLoopback())
}
