package messaging

import (
	"cmp"
	"errors"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Connection says where the namespace is and how to get in: either
// ConnectionString (the emulator), or Namespace and Credential.
type Connection struct {
	ConnectionString string // without an EntityPath
	Namespace        string // fully qualified, such as name.servicebus.windows.net
	Credential       azcore.TokenCredential
}

// Options are the options of a Producer, a Reader or a Sender. Zero fields take
// their defaults.
type Options struct {
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
	if c.ConnectionString == "" && (c.Namespace == "" || c.Credential == nil) {
		return o, errors.New("neither a connection string nor a namespace with a credential")
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	o.RetryDelay = cmp.Or(o.RetryDelay, 100*time.Millisecond)
	o.MaxRetryDelay = cmp.Or(o.MaxRetryDelay, 2*time.Second)
	return o, nil
}
