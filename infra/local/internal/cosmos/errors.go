package cosmos

import (
	"fmt"
	"net/http"
	"time"
)

// An apiError is an answer that refuses a request, with the status and
// sub-status of the service (Microsoft Learn, "HTTP status codes for Azure
// Cosmos DB").
type apiError struct {
	status     int
	subStatus  int
	message    string
	retryAfter time.Duration // 0: nothing is said
}

// Error gives the status and the message.
func (e *apiError) Error() string {
	return fmt.Sprintf("%d/%d: %s", e.status, e.subStatus, e.message)
}

// Sub-statuses that clients tell apart.
const (
	subPartitionKeyMismatch = 1001 // of 400
	subCrossPartitionQuery  = 1004 // of 400
	subOwnerNotFound        = 1003 // of 404
	subRangeGone            = 1002 // of 410
	subThroughput           = 3200 // of 429
)

// codes are the names of the statuses in error bodies.
var codes = map[int]string{
	http.StatusBadRequest:            "BadRequest",
	http.StatusUnauthorized:          "Unauthorized",
	http.StatusForbidden:             "Forbidden",
	http.StatusNotFound:              "NotFound",
	http.StatusMethodNotAllowed:      "MethodNotAllowed",
	http.StatusConflict:              "Conflict",
	http.StatusGone:                  "Gone",
	http.StatusPreconditionFailed:    "PreconditionFailed",
	http.StatusRequestEntityTooLarge: "RequestEntityTooLarge",
	http.StatusInternalServerError:   "InternalServerError",
	http.StatusServiceUnavailable:    "ServiceUnavailable",
	http.StatusRequestTimeout:        "RequestTimeout",
	http.StatusTooManyRequests:       "429", // the service has no name for it
}

func newError(status, subStatus int, format string, args ...any) *apiError {
	return &apiError{status: status, subStatus: subStatus, message: fmt.Sprintf(format, args...)}
}

// badRequest is a 400 in the form in which the service's replicas word it.
func badRequest(format string, args ...any) *apiError {
	return newError(http.StatusBadRequest, 0, "Message: {\"Errors\":[%q]}", fmt.Sprintf(format, args...))
}

func errNotFound() *apiError {
	return newError(http.StatusNotFound, 0, "Entity with the specified id does not exist in the system.")
}

// errOwnerNotFound is for what is asked inside a container or database that
// doesn't exist.
func errOwnerNotFound() *apiError {
	return newError(http.StatusNotFound, subOwnerNotFound, "Message: {\"Errors\":[\"Owner resource does not exist\"]}")
}

func errConflict() *apiError {
	return newError(http.StatusConflict, 0, "Message: {\"Errors\":[\"Resource with specified id or name already exists.\"]}")
}

func errPrecondition() *apiError {
	return newError(http.StatusPreconditionFailed, 0, "Operation cannot be performed because one of the specified precondition is not met.")
}

func errTooLarge() *apiError {
	return newError(http.StatusRequestEntityTooLarge, 0, "Message: {\"Errors\":[\"Request size is too large\"]}")
}

func errPartitionKeyMismatch() *apiError {
	return newError(http.StatusBadRequest, subPartitionKeyMismatch,
		"Message: {\"Errors\":[\"PartitionKey extracted from document doesn't match the one specified in the header\"]}")
}
