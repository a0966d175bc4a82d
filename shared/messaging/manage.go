package messaging

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus/admin"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
)

// QueueCount counts the messages of a queue at one moment.
type QueueCount = operate.QueueCount

const (
	countOp      = "count messages of queue"
	countRefused = "give the identity the role Azure Service Bus Data Owner on the queue: who only sends and receives may not count"
)

// Manager reads what Service Bus knows of the queues of a namespace, by its
// administration interface. It is safe for concurrent use, and needs no Close.
type Manager struct {
	client  *admin.Client
	timeout time.Duration
}

// OpenManager returns a Manager. It connects with its first question.
func OpenManager(c Connection, o Options) (*Manager, error) {
	o, err := o.complete(c)
	if err != nil {
		return nil, fmt.Errorf("open the management of Service Bus: %w", err)
	}
	options := &admin.ClientOptions{ClientOptions: azcore.ClientOptions{
		Telemetry: policy.TelemetryOptions{ApplicationID: o.Application},
		Retry:     policy.RetryOptions{MaxRetries: int32(o.Retries), RetryDelay: o.RetryDelay, MaxRetryDelay: o.MaxRetryDelay},
	}}
	var client *admin.Client
	if c.ConnectionString == "" {
		client, err = admin.NewClient(c.Namespace, c.Credential, options)
	} else {
		var properties azeventhubs.ConnectionStringProperties // of one form for both services
		if properties, err = azeventhubs.ParseConnectionString(c.ConnectionString); err == nil {
			if properties.Emulator {
				options.Transport = plainly{}
			}
			client, err = admin.NewClientFromConnectionString(c.ConnectionString, options)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the management of Service Bus: %w", err)
	}
	return &Manager{client: client, timeout: o.Timeout}, nil
}

// Queues counts the messages of each of the queues, in their order. The service
// counts within seconds, not at once.
func (m *Manager) Queues(ctx context.Context, names ...string) ([]QueueCount, error) {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	out := make([]QueueCount, len(names))
	for i, name := range names {
		found, err := m.client.GetQueueRuntimeProperties(ctx, name, nil)
		if err == nil && found == nil {
			return nil, failure.New(failure.Permanent, countOp, name, errors.New(queueAbsent))
		}
		if err != nil {
			return nil, httpFailure(ctx, countOp, name, countRefused, err)
		}
		out[i] = QueueCount{Queue: name, Active: int64(found.ActiveMessageCount), Scheduled: int64(found.ScheduledMessageCount),
			Dead: int64(found.DeadLetterMessageCount)}
	}
	return out, nil
}

// emulatorPort is where Microsoft's emulator has its administration interface
// (Microsoft Learn, "Overview of the Azure Service Bus emulator"); the local
// runtime has it at the address of the queues.
const emulatorPort = "5300"

// plain keeps no connection: who counts comes once a minute.
var plain = &http.Transport{DisableKeepAlives: true}

// plainly sends requests over plain HTTP: the SDK knows https alone, which the
// emulators don't speak.
type plainly struct{}

func (plainly) Do(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme = "http"
	if r.URL.Port() == "" {
		r.URL.Host = net.JoinHostPort(r.URL.Hostname(), emulatorPort)
	}
	return plain.RoundTrip(r)
}
