package cosmosdb

import (
	"errors"
	"sync/atomic"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

// account holds the SDK's client, and makes a new one as long as none has got
// through to the service. A client of azcosmos 1.5.0 looks at the account with
// its first operation, and when that fails it answers all operations of the next
// five minutes with the same error, long after the service is there again.
type account struct {
	open    func() (*azcosmos.Client, error)
	current atomic.Pointer[candidate]
}

// candidate is a client that is proven once the service has answered an
// operation of its.
type candidate struct {
	client *azcosmos.Client
	proven atomic.Bool
}

func newAccount(open func() (*azcosmos.Client, error)) (*account, error) {
	client, err := open()
	if err != nil {
		return nil, err
	}
	a := &account{open: open}
	a.current.Store(&candidate{client: client})
	return a, nil
}

// use runs an operation and returns its error.
func (a *account) use(operation func(*azcosmos.Client) error) error {
	c := a.current.Load()
	err := operation(c.client)
	switch {
	case c.proven.Load():
	case reached(err):
		c.proven.Store(true)
	default:
		a.replace(c)
	}
	return err
}

// reached reports whether the service has answered the operation itself, not
// only, or not even, the look at the account before it.
func reached(err error) bool {
	if err == nil {
		return true
	}
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) || answer.RawResponse == nil || answer.RawResponse.Request == nil {
		return false
	}
	path := answer.RawResponse.Request.URL.Path
	return path != "" && path != "/"
}

// replace puts a new client in the place of one that never got through. If
// another has done so already, or there can be none, it changes nothing.
func (a *account) replace(old *candidate) {
	client, err := a.open()
	if err != nil {
		return // it opened before with the same settings, and the next use tries again
	}
	if !a.current.CompareAndSwap(old, &candidate{client: client}) {
		client.Close()
		return
	}
	old.client.Close()
}

func (a *account) close() { a.current.Load().client.Close() }
