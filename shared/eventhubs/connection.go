package eventhubs

import (
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
)

// Connection says where the namespace is and how to get in: either
// ConnectionString (the emulator), or Namespace and Credential.
type Connection struct {
	ConnectionString string // without an EntityPath
	Namespace        string // fully qualified, such as name.servicebus.windows.net
	Credential       azcore.TokenCredential
}

// Options are the options of a Producer or a Reader. Zero fields take their defaults.
type Options struct {
	Hub     string        // the hub's name; required
	Timeout time.Duration // of one operation with its retries: 10 s
	// Retries is how often the SDK tries again: 3; a negative number means
	// never.
	Retries int
	// RetryDelay is the first delay between tries, MaxRetryDelay the longest:
	// 100 ms and 2 s.
	RetryDelay, MaxRetryDelay time.Duration
	// Application names this process to the service, in up to 24 characters without
	// spaces; "" does not.
	Application string
}

// complete checks that what is needed to open c is there, and sets the defaults.
func (o Options) complete(c Connection) (Options, error) {
	if o.Hub == "" {
		return o, errors.New("open Event Hubs: no hub")
	}
	if c.ConnectionString == "" && (c.Namespace == "" || c.Credential == nil) {
		return o, errors.New("open Event Hubs: neither a connection string nor a namespace with a credential")
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.RetryDelay <= 0 {
		o.RetryDelay = 100 * time.Millisecond
	}
	if o.MaxRetryDelay <= 0 {
		o.MaxRetryDelay = 2 * time.Second
	}
	return o, nil
}

func (o Options) retry() azeventhubs.RetryOptions {
	return azeventhubs.RetryOptions{
		MaxRetries: int32(o.Retries), RetryDelay: o.RetryDelay, MaxRetryDelay: o.MaxRetryDelay,
	}
}
