package settings

import (
	"fmt"
	"log/slog"
	"strings"
)

// hidden is what a secret looks like wherever it is printed.
const hidden = "(hidden)"

// Secret is a text that no formatting, logging or encoding shows.
type Secret struct{ text string }

// NewSecret wraps a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text, for the one call that needs it.
func (s Secret) Reveal() string { return s.text }

// Set reports whether there is a text.
func (s Secret) Set() bool { return s.text != "" }

// String hides the text.
func (s Secret) String() string {
	if s.text == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the text from encoders and from slog.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Connection is how a service is reached: by a connection string, or by an
// address and an identity. The host reads the same variables for the triggers
// (Microsoft Learn, "Guidance for developing Azure Functions", connections).
type Connection struct {
	// ConnectionString is not set when an identity is used.
	ConnectionString Secret
	// Address is the fully qualified namespace, or Cosmos DB's account
	// endpoint. Empty when there is a connection string.
	Address string
	// Credential is "managedidentity", or empty for the default chain of
	// credentials.
	Credential string
	// ClientID names a user-assigned managed identity; empty is the
	// system-assigned.
	ClientID string
}

// Used reports whether any function that runs here needs the service.
func (c Connection) Used() bool { return c.Address != "" || c.ConnectionString.Set() }

// String tells how the service is reached, without a secret.
func (c Connection) String() string {
	if !c.Used() {
		return "not used"
	}
	if c.ConnectionString.Set() {
		return "connection string " + hidden
	}
	s := "identity"
	if c.ClientID != "" {
		s += " " + c.ClientID
	}
	return s + " at " + c.Address
}

// LogValue is String.
func (c Connection) LogValue() slog.Value { return slog.StringValue(c.String()) }

// The connections, by their variables.
const eventHubs, serviceBus, cosmosDB = "EventHubs", "ServiceBus", "CosmosDB"

// connectionKind is what is particular about a service's connection.
type connectionKind struct {
	name      string   // of the variable
	suffix    string   // of the variable with the address
	parts     []string // that a connection string must have
	addressOf string   // an example
	field     func(*Settings) *Connection
}

var connectionKinds = []connectionKind{
	{eventHubs, "__fullyQualifiedNamespace", []string{"Endpoint", "SharedAccessKeyName", "SharedAccessKey"}, "ns.servicebus.windows.net",
		func(s *Settings) *Connection { return &s.EventHubs }},
	{serviceBus, "__fullyQualifiedNamespace", []string{"Endpoint", "SharedAccessKeyName", "SharedAccessKey"}, "ns.servicebus.windows.net",
		func(s *Settings) *Connection { return &s.ServiceBus }},
	{cosmosDB, "__accountEndpoint", []string{"AccountEndpoint", "AccountKey"}, "https://account.documents.azure.com:443/",
		func(s *Settings) *Connection { return &s.CosmosDB }},
}

// load reads the variables of one connection. As with the host, a plain value
// wins over an address.
func (k connectionKind) load(getenv func(string) string) (Connection, error) {
	if text := getenv(k.name); text != "" {
		for _, part := range k.parts {
			if !hasPart(text, part) {
				return Connection{}, fmt.Errorf("%s: the connection string has no %s", k.name, part)
			}
		}
		if hasPart(text, "EntityPath") { // it would win over the variable with the entity's name
			return Connection{}, fmt.Errorf("%s: the connection string has an EntityPath; allowed: one for the whole namespace", k.name)
		}
		return Connection{ConnectionString: NewSecret(text)}, nil
	}
	c := Connection{
		Address:    getenv(k.name + k.suffix),
		Credential: getenv(k.name + "__credential"),
		ClientID:   getenv(k.name + "__clientId"),
	}
	if c.Address == "" {
		return Connection{}, fmt.Errorf("%s: is not set; allowed: a connection string, or %s%s such as %s",
			k.name, k.name, k.suffix, k.addressOf)
	}
	if wantsURL := strings.HasPrefix(k.addressOf, "https://"); wantsURL != strings.Contains(c.Address, "://") {
		return Connection{}, fmt.Errorf("%s%s: %q is not allowed; allowed: an address such as %s",
			k.name, k.suffix, c.Address, k.addressOf)
	}
	if c.Credential != "" && c.Credential != "managedidentity" {
		return Connection{}, fmt.Errorf("%s__credential: %q is not allowed; allowed: managedidentity, or nothing", k.name, c.Credential)
	}
	if c.ClientID != "" && c.Credential == "" {
		return Connection{}, fmt.Errorf("%s__clientId: needs %s__credential=managedidentity", k.name, k.name)
	}
	return c, nil
}

// hostStorage is the host's variable for its own storage, in which its triggers
// keep their checkpoints (Microsoft Learn, "App settings reference for Azure
// Functions").
const hostStorage = "AzureWebJobsStorage"

// azurite is what UseDevelopmentStorage=true means: the emulator's published
// account (Microsoft Learn, "Connect to Azurite with SDKs and tools").
const azurite = "DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;" +
	"AccountKey=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==;" +
	"BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1"

// loadStorage reads where the host's storage is; its Address is the URL of the
// blob service. It is the host's to judge: what is wrong there shows when an
// operator looks at it.
func loadStorage(getenv func(string) string) Connection {
	if text := getenv(hostStorage); strings.HasPrefix(text, "UseDevelopmentStorage=true") {
		return Connection{ConnectionString: NewSecret(azurite)}
	} else if text != "" {
		return Connection{ConnectionString: NewSecret(text)}
	}
	c := Connection{
		Address: getenv(hostStorage + "__blobServiceUri"), Credential: getenv(hostStorage + "__credential"), ClientID: getenv(hostStorage + "__clientId"),
	}
	if name := getenv(hostStorage + "__accountName"); c.Address == "" && name != "" {
		c.Address = "https://" + name + ".blob.core.windows.net"
	}
	return c
}

// hasPart reports whether a connection string has a part name=value.
func hasPart(text, name string) bool {
	for part := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(part, "=")
		if strings.EqualFold(strings.TrimSpace(key), name) && value != "" {
			return true
		}
	}
	return false
}
