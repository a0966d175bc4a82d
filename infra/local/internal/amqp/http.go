package amqp

import (
	"bytes"
	"io"
	"net/http"
)

// speaksHTTP reports whether a connection begins with a request instead of a
// protocol header: the method that the management interface is read with.
func (h protocolHeader) speaksHTTP() bool { return bytes.HasPrefix(h[:], []byte("GET ")) }

// answerHTTP answers one request, whose first bytes are still in the reader, by
// Options.HTTP. The connection ends after it.
func (c *conn) answerHTTP() error {
	c.answered, c.frames.consume = true, 0
	r, err := http.ReadRequest(c.frames.r)
	if err != nil {
		return err
	}
	w := &response{header: http.Header{}, status: http.StatusOK}
	c.options.HTTP.ServeHTTP(w, r.WithContext(c.ctx))
	var answer bytes.Buffer
	err = (&http.Response{
		ProtoMajor: 1, ProtoMinor: 1, Request: r, StatusCode: w.status, Header: w.header,
		ContentLength: int64(w.body.Len()), Body: io.NopCloser(&w.body), Close: true,
	}).Write(&answer)
	if err != nil {
		return err
	}
	return c.writeNow(answer.Bytes())
}

// response is an http.ResponseWriter that keeps what is written.
type response struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *response) Header() http.Header         { return r.header }
func (r *response) WriteHeader(status int)      { r.status = status }
func (r *response) Write(b []byte) (int, error) { return r.body.Write(b) }
