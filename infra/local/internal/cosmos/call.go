package cosmos

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos/sql"
)

// maxBodyBytes bounds a request body: an item of 2 MB and room for what a batch
// or a query wraps around it.
const maxBodyBytes = maxItemBytes + 64<<10

// A call is one request on its way through the server.
type call struct {
	*http.Request
	target   target
	activity string
	body     []byte
}

func (c *call) readBody() error {
	size := max(0, min(c.ContentLength, maxBodyBytes))
	body := bytes.NewBuffer(make([]byte, 0, size+bytes.MinRead)) // which is not copied as it grows
	_, err := body.ReadFrom(http.MaxBytesReader(nil, c.Body, maxBodyBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge()
	}
	if err != nil {
		return badRequest("The request body could not be read.")
	}
	c.body = body.Bytes()
	return nil
}

// isTrue reports whether a header says true, in any case.
func (c *call) isTrue(header string) bool { return strings.EqualFold(c.Header.Get(header), "true") }

// isQuery tells a query from the creation of a resource, which is also a POST.
func (c *call) isQuery() bool {
	return c.isTrue("x-ms-documentdb-query") || c.isTrue("x-ms-documentdb-isquery") ||
		strings.HasPrefix(c.Header.Get("Content-Type"), "application/query+json")
}

// wantsContent reports whether the answer to a write carries the resource.
func (c *call) wantsContent() bool {
	return !strings.EqualFold(c.Header.Get("Prefer"), "return=minimal")
}

// pageSize is the largest number of results that the client takes in one page.
func (c *call) pageSize() (int, error) {
	const byDefault, most = 100, 1000
	text := c.Header.Get("x-ms-max-item-count")
	if text == "" {
		return byDefault, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n == 0 || n < -1 {
		return 0, badRequest("The value '%s' specified for the header 'x-ms-max-item-count' is invalid.", text)
	}
	if n == -1 || n > most {
		return most, nil
	}
	return n, nil
}

// activityOf is the activity id of the request, or a new one.
func activityOf(h http.Header) string {
	if id, err := uuid.Parse(h.Get("x-ms-activity-id")); err == nil {
		return id.String()
	}
	return uuid.NewString()
}

// A response is an answer before it is written. The service writes the names of its
// headers in lower case, and .NET's SDK looks for them so.
type response struct {
	status int
	header map[string]string
	body   []byte
}

func newResponse(status int, body []byte) *response {
	return &response{status: status, header: make(map[string]string, 12), body: body}
}

// resourceResponse answers with a resource and its tag.
func resourceResponse(status int, v sql.Value, charge float64) *response {
	return newResponse(status, sql.AppendJSON(nil, v)).tag(v.Member("_etag").Text()).charge(charge)
}

func (r *response) set(name, value string) *response {
	r.header[name] = value
	return r
}

func (r *response) tag(etag string) *response { return r.set("etag", etag) }

func (r *response) charge(units float64) *response {
	return r.set("x-ms-request-charge", strconv.FormatFloat(units, 'f', 2, 64))
}

// session says how far the range has come; clients may send it back.
func (r *response) session(rangeIndex int, writes int64) *response {
	r.set("lsn", strconv.FormatInt(writes, 10))
	return r.set("x-ms-session-token", strconv.Itoa(rangeIndex)+":-1#"+strconv.FormatInt(writes, 10))
}

// write sends the answer with what every answer carries (Microsoft Learn,
// "Common Azure Cosmos DB REST response headers").
func (r *response) write(w http.ResponseWriter, c *call, took time.Duration) error {
	r.set("x-ms-activity-id", c.activity)
	r.set("x-ms-schemaversion", "1.19")
	r.set("x-ms-gatewayversion", "version=2.14.0")
	r.set("x-ms-serviceversion", "version=2.14.0.0")
	r.set("x-ms-request-duration-ms", strconv.FormatFloat(took.Seconds()*1000, 'f', 3, 64))
	if r.header["x-ms-request-charge"] == "" {
		r.set("x-ms-request-charge", "1")
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store, no-cache")
	for name, value := range r.header {
		h[name] = []string{value}
	}
	if len(r.body) > 0 {
		h.Set("Content-Type", "application/json")
	}
	w.WriteHeader(r.status)
	if len(r.body) == 0 || r.status == http.StatusNoContent || r.status == http.StatusNotModified {
		return nil
	}
	_, err := w.Write(r.body)
	return err
}

// response is the answer that tells the client of e.
func (e *apiError) response(activity string) *response {
	body := sql.ObjectValue(
		text("code", codes[e.status]),
		text("message", e.message+"\r\nActivityId: "+activity),
	)
	r := newResponse(e.status, sql.AppendJSON(nil, body))
	if e.retryAfter > 0 {
		r.set("x-ms-retry-after-ms", strconv.FormatInt(e.retryAfter.Milliseconds(), 10))
	}
	return r.set("x-ms-substatus", strconv.Itoa(e.subStatus))
}
