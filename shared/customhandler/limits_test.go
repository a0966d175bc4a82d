package customhandler

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestServerRefusesLargeHeaders(t *testing.T) {
	url, stop := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), time.Second)
	client := newClient(t)
	for size, want := range map[int]int{32 << 10: http.StatusNoContent, 128 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		r, err := http.NewRequest(http.MethodGet, url+"/api/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.Repeat("x", size))
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a header of %d bytes: %d, want %d", size, resp.StatusCode, want)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
