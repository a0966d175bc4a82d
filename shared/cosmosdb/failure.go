package cosmosdb

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/fabrikam/drone-delivery/shared/failure"
)

// The sub-statuses that make a difference; see
// https://learn.microsoft.com/rest/api/cosmos-db/http-status-codes-for-cosmosdb.
const (
	subStatusReadSession    = "1002" // 404: the replica has not caught up
	subStatusOwner          = "1003" // 404: the database or container is not there
	subStatusWriteForbidden = "3"    // 403: another region has become the one to write to
	subStatusAccountMoved   = "1008" // 403: the region has been removed from the account
)

// judge turns an error of the SDK into a *failure.Error. It is the only place
// that decides what kind of failure an answer of Cosmos DB is.
func judge(ctx context.Context, op, id string, err error) error {
	if err == nil {
		return nil
	}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return failure.New(kindOfCause(err), op, id, cause(ctx, err))
	}
	kind, advice := kindOfStatus(response)
	// Without a code of the service the SDK's is the status line.
	code := strings.TrimPrefix(response.ErrorCode, strconv.Itoa(response.StatusCode)+" ")
	text := fmt.Errorf("status %d %s", response.StatusCode, code)
	if advice != "" {
		text = fmt.Errorf("%w: %s", text, advice)
	}
	return &failure.Error{
		Kind: kind, Op: op, ID: id, RetryAfter: retryAfter(response.RawResponse),
		Err: &statusError{text: text.Error(), err: err},
	}
}

// statusError says in a line what the SDK's error says in a page.
type statusError struct {
	text string
	err  error
}

func (e *statusError) Error() string { return e.text }
func (e *statusError) Unwrap() error { return e.err }

func kindOfStatus(r *azcore.ResponseError) (kind failure.Kind, advice string) {
	switch r.StatusCode {
	case http.StatusNotFound:
		switch subStatus(r.RawResponse) {
		case subStatusReadSession:
			return failure.Transient, ""
		case subStatusOwner:
			return failure.Permanent, "the database or the container does not exist: deploy it, or start the local runtime"
		}
		return failure.NotFound, ""
	case http.StatusConflict, http.StatusPreconditionFailed:
		return failure.Conflict, ""
	case http.StatusBadRequest:
		// What this package sends is made by this code, not by a client.
		return failure.Permanent, "the request is wrong: this is a fault of the app"
	case http.StatusRequestEntityTooLarge:
		return failure.Invalid, ""
	case http.StatusUnauthorized:
		return failure.Permanent, "the key or the token is refused: check the connection settings"
	case http.StatusForbidden:
		switch subStatus(r.RawResponse) {
		case subStatusWriteForbidden, subStatusAccountMoved:
			return failure.Transient, ""
		}
		return failure.Permanent, "access is refused: give the identity the role Cosmos DB Built-in Data Contributor, and check the account's network rules"
	case http.StatusRequestTimeout, http.StatusTooManyRequests, statusRetryWith, http.StatusGone:
		return failure.Transient, ""
	}
	if r.StatusCode >= 500 {
		return failure.Transient, ""
	}
	return failure.Permanent, ""
}

// kindOfCause judges an error that no answer of the service is behind.
// Credentials that will never work say so; all else is the network, also where
// azcosmos marks it as not to be retried: a write whose connection broke may
// have been made, which is for the caller to find out.
func kindOfCause(err error) failure.Kind {
	var network net.Error
	if errors.As(err, &network) || errors.Is(err, context.Canceled) {
		return failure.Transient
	}
	var never interface{ NonRetriable() }
	if errors.As(err, &never) {
		return failure.Permanent
	}
	return failure.Transient
}

// cause adds why ctx ended, where that is why the operation did.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, context.Cause(ctx)) {
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	}
	return err
}

func subStatus(r *http.Response) string {
	if r == nil {
		return ""
	}
	return r.Header.Get("x-ms-substatus")
}

// retryAfter is how long the service asks to wait, which it says in
// milliseconds; a gateway in between says it in seconds.
func retryAfter(r *http.Response) time.Duration {
	if r == nil {
		return 0
	}
	if ms, err := strconv.Atoi(r.Header.Get("x-ms-retry-after-ms")); err == nil && ms > 0 {
		return time.Duration(ms) * time.Millisecond
	}
	if s, err := strconv.Atoi(r.Header.Get("Retry-After")); err == nil && s > 0 {
		return time.Duration(s) * time.Second
	}
	return 0
}
