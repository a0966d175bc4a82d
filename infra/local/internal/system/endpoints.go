package system

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// Endpoints are what a running system serves: addresses, and connection strings
// for the clients of the services.
type Endpoints struct {
	HTTP string `json:"http,omitempty"`
	// Backends is the address of the backends' own app; "" when they are in the
	// app at HTTP.
	Backends string `json:"backends,omitempty"`

	AMQP   string `json:"amqp"`
	Cosmos string `json:"cosmos"`

	ServiceBus string `json:"serviceBus"`
	EventHubs  string `json:"eventHubs"`
	CosmosDB   string `json:"cosmosDB"`

	// MasterKey opens the host's /admin, as header x-functions-key; "" while
	// AUTH_MODE is off, when it wants none.
	MasterKey string `json:"masterKey,omitempty"`

	// Admin is the URL of the admin endpoint, where the plan of faults is.
	Admin string `json:"admin,omitempty"`
}

// Endpoints returns the addresses and the connection strings.
func (e *Emulators) Endpoints() Endpoints {
	return Endpoints{
		AMQP: e.AMQPAddress(), Cosmos: e.CosmosAddress(),
		ServiceBus: e.ServiceBus(), EventHubs: e.ServiceBus(), CosmosDB: e.CosmosDB(),
	}
}

// BackendsURL is where the backends' functions are.
func (e Endpoints) BackendsURL() string { return "http://" + cmp.Or(e.Backends, e.HTTP) }

// Settings are the app's settings for these endpoints.
func (e Endpoints) Settings() map[string]string {
	return map[string]string{"ServiceBus": e.ServiceBus, "EventHubs": e.EventHubs, "CosmosDB": e.CosmosDB}
}

// Write writes the endpoints into a file, for other tools.
func (e Endpoints) Write(path string) error {
	text, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("write endpoints: %w", err)
	}
	return nil
}
