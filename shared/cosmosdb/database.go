package cosmosdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// Connection says where the account is and how to get in: either
// ConnectionString (the emulators), or Endpoint and Credential.
type Connection struct {
	ConnectionString string
	Endpoint         string // such as https://name.documents.azure.com
	Credential       azcore.TokenCredential
}

// Options are the options of a Database. Zero fields take their defaults.
type Options struct {
	Database string        // the database's id; required
	Timeout  time.Duration // of one operation with its retries: 10 s
	// TryTimeout is the limit of one try: 3 s.
	TryTimeout time.Duration
	// Retries is how often an operation is tried again, after the Retry-After
	// of the service or a growing delay: 3; a negative number means never.
	Retries int
	// MaxRetryDelay is the longest time to wait before a try; a longer
	// Retry-After is left to the caller: 2 s.
	MaxRetryDelay time.Duration
	// MaxConnections is the number of idle connections that are kept: 256.
	MaxConnections int
	// Observe is told of each try of an operation, with the context of its
	// caller. It must not block. May be nil.
	Observe func(ctx context.Context, t Try)
	// Application names this process to the service, in up to 24 characters without
	// spaces; "" does not.
	Application string
	// Transport replaces the HTTP client, for tests.
	Transport policy.Transporter
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.TryTimeout <= 0 {
		o.TryTimeout = 3 * time.Second
	}
	if o.Retries == 0 {
		o.Retries = 3
	}
	if o.MaxRetryDelay <= 0 {
		o.MaxRetryDelay = 2 * time.Second
	}
	if o.MaxConnections <= 0 {
		o.MaxConnections = 256
	}
	return o
}

// Database is a connection to the system's database. It is safe for concurrent
// use; one per process is enough. Close must be called.
type Database struct {
	account *account
	id      string
	timeout time.Duration
	idle    func() // closes idle connections
}

// Open connects to a database, without waiting for an answer if it can: Ping
// tells whether it is there.
func Open(c Connection, o Options) (*Database, error) {
	if o.Database == "" {
		return nil, errors.New("open Cosmos DB: no database id")
	}
	o = o.withDefaults()
	db := &Database{id: o.Database, timeout: o.Timeout, idle: func() {}}
	transport := o.Transport
	if transport == nil {
		client := &http.Client{Transport: newTransport(o)}
		transport, db.idle = inOneWrite{client}, client.CloseIdleConnections
	}
	options := &azcosmos.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: transport,
		Telemetry: policy.TelemetryOptions{ApplicationID: o.Application},
		Retry: policy.RetryOptions{
			MaxRetries: int32(o.Retries), TryTimeout: o.TryTimeout,
			RetryDelay: 50 * time.Millisecond, MaxRetryDelay: o.MaxRetryDelay,
			StatusCodes: retried,
		},
	}}
	if o.Observe != nil {
		options.PerRetryPolicies = append(options.PerRetryPolicies, observer(o.Observe))
	}
	var err error
	db.account, err = newAccount(func() (*azcosmos.Client, error) {
		switch {
		case c.ConnectionString != "":
			return azcosmos.NewClientFromConnectionString(c.ConnectionString, options)
		case c.Endpoint != "" && c.Credential != nil:
			return azcosmos.NewClient(c.Endpoint, c.Credential, options)
		}
		return nil, errors.New("neither a connection string nor an endpoint with a credential")
	})
	if err != nil {
		return nil, fmt.Errorf("open Cosmos DB: %w", err)
	}
	return db, nil
}

// retried are the statuses after which the client tries again. 449 is the
// service's "retry with": another write of the same document was going on.
var retried = []int{
	http.StatusRequestTimeout, http.StatusTooManyRequests, statusRetryWith,
	http.StatusInternalServerError, http.StatusBadGateway,
	http.StatusServiceUnavailable, http.StatusGatewayTimeout,
}

const statusRetryWith = 449

// newTransport keeps many connections open: net/http keeps two per host unless
// told otherwise, and everything here goes to one host.
func newTransport(o Options) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: o.TryTimeout, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          o.MaxConnections,
		MaxIdleConnsPerHost:   o.MaxConnections,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   o.TryTimeout,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       writeBuffer,
		// Finds out about dead connections before a call has to time out.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 2 * time.Second, PingTimeout: time.Second},
	}
}

// writeBuffer has room for the header and the document of nearly every request, in
// bytes.
const writeBuffer = 8 << 10

// inOneWrite sends the body of a request together with its header. The SDK wraps the
// body in a reader of its own: as net/http can't tell whether that one blocks, it would
// send the header first.
type inOneWrite struct{ *http.Client }

func (c inOneWrite) Do(req *http.Request) (*http.Response, error) {
	if req.Body != nil && req.ContentLength > 0 {
		body := make([]byte, req.ContentLength)
		if _, err := io.ReadFull(req.Body, body); err != nil {
			return nil, fmt.Errorf("read the body to send: %w", err)
		}
		req.Body = io.NopCloser(bytes.NewReader(body)) // the request is this try's own
	}
	return c.Client.Do(req)
}

// Ping fails if the database can't be read.
func (db *Database) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, db.timeout)
	defer cancel()
	err := db.account.use(func(client *azcosmos.Client) error {
		d, err := client.NewDatabase(db.id)
		if err == nil {
			_, err = d.Read(ctx, nil)
		}
		return err
	})
	return judge(ctx, "read database", db.id, err)
}

// Close releases the connections. No operation may be running.
func (db *Database) Close() {
	db.account.close()
	db.idle()
}
