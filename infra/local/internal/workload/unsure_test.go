package workload

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"
)

// Ensure that the answer that a request may have been taken is told from other
// refusals.
func TestUnsureAnswersAreTold(t *testing.T) {
	answers := []func(http.ResponseWriter){
		func(w http.ResponseWriter) { problem(w, http.StatusServiceUnavailable, `{"title":"Busy"}`) },
		func(w http.ResponseWriter) {
			problem(w, http.StatusServiceUnavailable, `{"title":"Unavailable","transactionId":"t"}`)
		},
		func(w http.ResponseWriter) { problem(w, http.StatusConflict, `{"title":"Past","transactionId":"t"}`) },
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		answers[0](w)
		answers = answers[1:]
	}))
	defer server.Close()
	var unsure []bool
	client := NewClient(ClientOptions{URL: server.URL, Timeout: time.Minute, Seen: func(e Exchange) { unsure = append(unsure, e.Unsure) }})
	defer client.Close()
	if _, err := client.Cancel(t.Context(), "t", "key"); Status(err) != http.StatusConflict {
		t.Errorf("error %v", err)
	}
	if !slices.Equal(unsure, []bool{false, true, false}) {
		t.Errorf("unsure answers %v", unsure)
	}
}
