package backendclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// The codes of failures that no backend has named.
const (
	codeNotSent    = "not-sent"   // no connection came about
	codeToken      = "no-token"   // no token for the backend could be had
	codeBusy       = "busy"       // no free place for the call
	codeOpen       = "open"       // the backend is down: its breaker is open
	codeTimeout    = "timeout"    // no answer in time
	codeCancelled  = "cancelled"  // the caller gave up
	codeBroken     = "broken"     // the connection broke
	codeUnreadable = "unreadable" // the answer is no JSON, too large, or broke off
	codeStatus     = "status"     // an error without a problem document of a type
)

// maxMessage bounds the text of a failure, in bytes.
const maxMessage = 500

// answer is what came back: a status, and a body or the error that kept it from
// being read.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// classify gives the two verdicts on an answer:
//
//	2xx, readable                             succeeded   yes
//	429                                       later       no
//	401, our own forbidden                    later       no
//	other 4xx but 408, with a problem's type  never       no
//	all others                                later       maybe
//
// Never is the backend's own word, and that is a problem document. A 4xx without
// one comes from what lies before the backend: a stopped app (403, 404), a
// gateway or a server that reads no such request (400, 405, 413, 421, 431), one
// that did not wait for the answer (499). It says nothing of the business, and
// nothing of what the backend has done: only 401 and 429 are given before a call
// is looked at.
//
// Who is not let in has learnt nothing of the business: a role that is missing,
// or not known yet everywhere, puts the transactions off and rejects none.
func classify(a answer, now time.Time) workflow.Outcome {
	if a.status >= 200 && a.status <= 299 {
		return success(a)
	}
	p, isWord := read(a)
	o := workflow.Outcome{
		Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: a.status, Type: codeStatus,
		Message:    fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)),
		RetryAfter: failure.ParseRetryAfter(a.header.Get("Retry-After"), now),
	}
	if isWord {
		o.Type, o.Message = p.Type, short(p.Error())
	}
	switch {
	case a.status == http.StatusTooManyRequests, a.status == http.StatusUnauthorized,
		a.status == http.StatusForbidden && o.Type == problem.Forbidden.ID:
		o.Effect = workflow.EffectNo
	case a.status >= 400 && a.status <= 499 && a.status != http.StatusRequestTimeout && isWord:
		o.Retry, o.Effect = workflow.RetryNever, workflow.EffectNo
	}
	return o
}

// success takes over the result. An answer that can't be read is none: without
// the result the next steps can't be made, and a repeat gets it again.
func success(a answer) workflow.Outcome {
	if a.err != nil {
		return unknown(a.status, codeOf(a.err, codeUnreadable), a.err)
	}
	body := bytes.TrimSpace(a.body)
	if len(body) == 0 {
		return workflow.Outcome{Effect: workflow.EffectYes, Status: a.status}
	}
	if !json.Valid(body) {
		return unknown(a.status, codeUnreadable, errors.New("the answer is not JSON"))
	}
	return workflow.Outcome{Effect: workflow.EffectYes, Status: a.status, Result: body}
}

// read returns the problem document of a failure, if there is one with a type of
// its own: about:blank says no more than the status does (RFC 9457, section
// 4.2.1), and anybody's server says it.
func read(a answer) (problem.Problem, bool) {
	media, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	var p problem.Problem
	if a.err != nil || err != nil || media != problem.ContentType || p.UnmarshalJSON(a.body) != nil ||
		p.Type == "" || p.Type == "about:blank" {
		return problem.Problem{}, false
	}
	p.Status = a.status // the document's is advice only
	return p, true
}

// notSent is the verdict on a call that never left.
func notSent(code string, err error) workflow.Outcome {
	return workflow.Outcome{
		Retry: workflow.RetryLater, Effect: workflow.EffectNo, Type: code, Message: short(err.Error()),
	}
}

// unknown is the verdict on a call that may have done anything.
func unknown(status int, code string, err error) workflow.Outcome {
	return workflow.Outcome{
		Retry: workflow.RetryLater, Effect: workflow.EffectMaybe, Status: status, Type: code, Message: short(err.Error()),
	}
}

// codeOf returns the code of a call without an answer: other, unless its time
// was up or its caller gave up.
func codeOf(err error, other string) string {
	var timeout net.Error
	switch {
	case errors.Is(err, context.Canceled):
		return codeCancelled
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return codeTimeout
	}
	return other
}

// short cuts a text that is kept in a document.
func short(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
