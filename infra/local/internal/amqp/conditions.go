package amqp

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Error conditions of OASIS AMQP 1.0 part 2, section 2.8.15 (amqp-error).
const (
	CondInternalError         = "amqp:internal-error"
	CondNotFound              = "amqp:not-found"
	CondUnauthorizedAccess    = "amqp:unauthorized-access"
	CondDecodeError           = "amqp:decode-error"
	CondResourceLimitExceeded = "amqp:resource-limit-exceeded"
	CondNotAllowed            = "amqp:not-allowed"
	CondInvalidField          = "amqp:invalid-field"
	CondNotImplemented        = "amqp:not-implemented"
	CondResourceLocked        = "amqp:resource-locked"
	CondPreconditionFailed    = "amqp:precondition-failed"
	CondResourceDeleted       = "amqp:resource-deleted"
	CondIllegalState          = "amqp:illegal-state"
	CondFrameSizeTooSmall     = "amqp:frame-size-too-small"
)

// Error conditions of sections 2.8.16 (connection-error), 2.8.17
// (session-error) and 2.8.18 (link-error).
const (
	CondConnectionForced      = "amqp:connection:forced"
	CondFramingError          = "amqp:connection:framing-error"
	CondWindowViolation       = "amqp:session:window-violation"
	CondErrantLink            = "amqp:session:errant-link"
	CondHandleInUse           = "amqp:session:handle-in-use"
	CondUnattachedHandle      = "amqp:session:unattached-handle"
	CondDetachForced          = "amqp:link:detach-forced"
	CondTransferLimitExceeded = "amqp:link:transfer-limit-exceeded"
	CondMessageSizeExceeded   = "amqp:link:message-size-exceeded"
	CondLinkStolen            = "amqp:link:stolen"
)

// Error conditions of Azure Service Bus and Event Hubs (Microsoft Learn, "AMQP
// errors in Azure Service Bus", and the tables of the Azure SDKs).
const (
	CondServerBusy            = "com.microsoft:server-busy"
	CondTimeout               = "com.microsoft:timeout"
	CondOperationCancelled    = "com.microsoft:operation-cancelled"
	CondArgumentError         = "com.microsoft:argument-error"
	CondArgumentOutOfRange    = "com.microsoft:argument-out-of-range"
	CondEntityDisabled        = "com.microsoft:entity-disabled"
	CondEntityAlreadyExists   = "com.microsoft:entity-already-exists"
	CondMessageLockLost       = "com.microsoft:message-lock-lost"
	CondMessageNotFound       = "com.microsoft:message-not-found"
	CondSessionLockLost       = "com.microsoft:session-lock-lost"
	CondSessionNotFound       = "com.microsoft:session-not-found"
	CondSessionCannotBeLocked = "com.microsoft:session-cannot-be-locked"
	CondDeadLetter            = "com.microsoft:dead-letter"
	CondGeoInvalidOffset      = "com.microsoft:georeplication:invalid-offset"
)

// statuses are the HTTP-like codes that $cbs and $management answer with
// (OASIS AMQP Management 1.0 draft, section 3.2; Microsoft Learn,
// "Service Bus AMQP request-response operations").
var statuses = map[string]int32{
	CondInternalError:         500,
	CondNotFound:              404,
	CondUnauthorizedAccess:    401,
	CondDecodeError:           400,
	CondResourceLimitExceeded: 403,
	CondNotAllowed:            403,
	CondInvalidField:          400,
	CondNotImplemented:        501,
	CondResourceLocked:        423,
	CondPreconditionFailed:    412,
	CondResourceDeleted:       404,
	CondMessageSizeExceeded:   413,
	CondServerBusy:            503,
	CondTimeout:               408,
	CondOperationCancelled:    500,
	CondArgumentError:         400,
	CondArgumentOutOfRange:    400,
	CondEntityDisabled:        403,
	CondEntityAlreadyExists:   409,
	CondMessageLockLost:       410,
	CondMessageNotFound:       404,
	CondSessionLockLost:       410,
	CondSessionNotFound:       404,
	CondSessionCannotBeLocked: 409,
}

// StatusOf gives the status code and description that a $cbs or $management
// response carries for an error: 200 for nil, the code of the condition of the
// *Error in its chain, 500 for any other.
func StatusOf(err error) (int32, string) {
	if err == nil {
		return 200, "OK"
	}
	e := asError(err)
	code, ok := statuses[e.Condition]
	if !ok {
		code = 500
	}
	return code, e.Description
}

// Errorf returns an *Error of the condition with a formatted description.
func Errorf(condition, format string, args ...any) *Error {
	return &Error{Condition: condition, Description: fmt.Sprintf(format, args...)}
}

// asError returns the *Error in err's chain, or an internal error of its text.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Condition: CondInternalError, Description: err.Error()}
}

// truncate shortens s to at most n bytes of whole characters.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
