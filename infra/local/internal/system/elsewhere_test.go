package system

import (
	"maps"
	"strings"
	"testing"
)

const secretPart = ";SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0"

// Ensure that a settings file's connections are told from those to the emulators,
// and that what is shown of them is no secret.
func TestElsewhere(t *testing.T) {
	at := Endpoints{AMQP: "127.0.0.1:5672", Cosmos: "127.0.0.1:8081"}
	for name, tc := range map[string]struct{ file, want map[string]string }{
		"nothing": {},
		"identities": {
			map[string]string{"EventHubs__fullyQualifiedNamespace": "hubs.servicebus.windows.net",
				"ServiceBus__fullyQualifiedNamespace": "bus.servicebus.windows.net", "CosmosDB__accountEndpoint": "https://a.documents.azure.com:443/"},
			map[string]string{"EventHubs": "hubs.servicebus.windows.net", "ServiceBus": "bus.servicebus.windows.net",
				"CosmosDB": "https://a.documents.azure.com:443/"},
		},
		"connection strings": {
			map[string]string{"ServiceBus": "Endpoint=sb://bus.servicebus.windows.net/" + secretPart,
				"CosmosDB": "AccountEndpoint=https://a.documents.azure.com/;AccountKey=c2VjcmV0"},
			map[string]string{"ServiceBus": "bus.servicebus.windows.net:5671", "CosmosDB": "a.documents.azure.com:443"},
		},
		"our own": {
			map[string]string{"EventHubs": "Endpoint=sb://localhost" + secretPart + ";UseDevelopmentEmulator=true;",
				"ServiceBus": "Endpoint=sb://127.0.0.1:5672" + secretPart, "CosmosDB": "AccountEndpoint=http://localhost:8081/;AccountKey=c2VjcmV0"},
			nil,
		},
		"other emulators": {
			map[string]string{"EventHubs": "Endpoint=sb://127.0.0.1:5673" + secretPart + ";UseDevelopmentEmulator=true",
				"CosmosDB": "AccountEndpoint=https://emulator:8081;AccountKey=c2VjcmV0"},
			map[string]string{"EventHubs": "127.0.0.1:5673", "CosmosDB": "emulator:8081"},
		},
		"a plain value wins": {
			map[string]string{"EventHubs": "Endpoint=sb://localhost:5672" + secretPart, "EventHubs__fullyQualifiedNamespace": "hubs.servicebus.windows.net"},
			nil,
		},
		"no endpoint": {
			map[string]string{"EventHubs": "sb://hubs" + secretPart},
			map[string]string{"EventHubs": "an address that can't be read"},
		},
	} {
		got := environment{file: tc.file}.elsewhere(at)
		if !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		for _, place := range got {
			if strings.Contains(place, "c2VjcmV0") {
				t.Errorf("%s: shows a secret: %s", name, place)
			}
		}
	}
}

func TestPortAfter(t *testing.T) {
	for _, tc := range []struct {
		address string
		n       int
		want    string // "" for an error
	}{
		{"127.0.0.1:7071", 1, "127.0.0.1:7072"},
		{"127.0.0.1:7071", 3, "127.0.0.1:7074"},
		{"7071", 1, "127.0.0.1:7072"},
		{":7071", 1, ":7072"},
		{"[::1]:80", 1, "[::1]:81"},
		{"127.0.0.1:0", 2, "127.0.0.1:0"},
		{"0", 1, "127.0.0.1:0"},
		{"localhost:http", 1, ""},
		{"a:b:c", 1, ""},
	} {
		if got, err := portAfter(tc.address, tc.n); got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s, %d: %q, %v; want %q", tc.address, tc.n, got, err, tc.want)
		}
	}
}
