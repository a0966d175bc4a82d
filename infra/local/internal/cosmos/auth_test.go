package cosmos

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"
)

// Ensure that only a fresh signature with the account's key is let in.
func TestAuthorize(t *testing.T) {
	f := newFixture(t, plainContainer)
	request := func(authorization string, date time.Time) *httptest.ResponseRecorder {
		r := httptest.NewRequest("GET", "/dbs/d", nil)
		r.Header.Set("x-ms-date", date.Format(http.TimeFormat))
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		return answerTo(f.Server, r)
	}
	signed := func(key []byte, method, path string, date time.Time) string {
		return token(key, httptest.NewRequest(method, path, nil), date.Format(http.TimeFormat))
	}
	now := f.clock.Now()
	f.want(request(signed(f.key, "GET", "/dbs/d", now), now), http.StatusOK)

	f.refuses(request("", now), 401, "0", "Required Header authorization is missing")
	f.refuses(request(signed([]byte("another key"), "GET", "/dbs/d", now), now), 401, "0", "'get\ndbs\ndbs/d\n")
	f.refuses(request(signed(f.key, "DELETE", "/dbs/d", now), now), 401, "0", "The input authorization token can't serve the request")
	f.refuses(request(signed(f.key, "GET", "/dbs/e", now), now), 401, "0", "The input authorization token can't serve the request")
	f.refuses(request(signed(f.key, "GET", "/dbs/d", now.Add(time.Minute)), now), 401, "0", "The input authorization token can't serve the request")
	f.refuses(request(url.QueryEscape("type=aad&ver=1.0&sig=eyJ0eXAi"), now), 401, "0", "type aad are not accepted")
	f.refuses(request(url.QueryEscape("type=resource&ver=1.0&sig=abc"), now), 401, "0", "type resource are not accepted")
	f.refuses(request("Bearer eyJ0eXAi", now), 401, "0", "required format")
	f.refuses(request(url.QueryEscape("type=master&ver=1.0&sig=***"), now), 401, "0", "The input authorization token can't serve the request")

	for _, skew := range []time.Duration{-maxSkew - time.Second, maxSkew + time.Second} {
		date := now.Add(skew)
		f.refuses(request(signed(f.key, "GET", "/dbs/d", date), date), 403, "0", "not valid at the current time")
		date = now.Add(skew / 2)
		f.want(request(signed(f.key, "GET", "/dbs/d", date), date), http.StatusOK)
	}
}

func TestConfig(t *testing.T) {
	if _, err := base64.StdEncoding.DecodeString(EmulatorKey); err != nil {
		t.Errorf("the published key: %v", err)
	}
	if _, err := New(Config{Key: "no base64!"}, nil); err == nil {
		t.Error("a key that is not base64 was taken")
	}
	for _, ranges := range []int{-1, maxRanges + 1} {
		if _, err := New(Config{RangesPerContainer: ranges}, nil); err == nil {
			t.Errorf("%d ranges per container were taken", ranges)
		}
	}
	f := newFixture(t, plainContainer)
	if got, want := f.ConnectionString("127.0.0.1:8081"), "AccountEndpoint=http://127.0.0.1:8081/;AccountKey="+EmulatorKey+";"; got != want {
		t.Errorf("connection string %s, want %s", got, want)
	}
}
