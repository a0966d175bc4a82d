package play

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/shared/trial"
)

// till counts what it was asked.
type till struct{ asked atomic.Int64 }

func (t *till) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	t.asked.Add(1)
	w.Header().Set("X-Till", "1")
	w.WriteHeader(http.StatusCreated)
	_, _ = io.WriteString(w, "paid")
}

func (t *till) Ledger() (json.RawMessage, error) { return json.Marshal(t.asked.Load()) }

func TestServices(t *testing.T) {
	s, err := Start([]trial.Service{{Name: "till", Setting: "TILL_URL", Open: func() trial.Foreign { return &till{} }}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	url := s.Settings()["TILL_URL"]
	resp, err := http.Post(url+"/payments", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusCreated || resp.Header.Get("X-Till") != "1" {
		t.Errorf("answered %d, %v", resp.StatusCode, resp.Header)
	}
	if ledgers, err := s.Ledgers(); err != nil || string(ledgers["till"]) != "1" {
		t.Errorf("ledgers %s, %v", ledgers, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := http.Get(url); err == nil {
		t.Error("it serves after its end")
	}
}

// Ensure that an answer which is late is late for what was done already, and that
// who does not wait for it has done it all the same.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := &till{}
		handler := late(service, func() time.Duration { return 3 * time.Second })
		for patience, answered := range map[time.Duration]string{time.Second: "", 5 * time.Second: "paid"} {
			before := service.asked.Load()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			held := &answer{header: http.Header{}}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			handler.ServeHTTP(held, req)
			cancel()
			if held.body.String() != answered || service.asked.Load() != before+1 {
				t.Errorf("after %v: %q, asked %d times", patience, held.body.String(), service.asked.Load()-before)
			}
		}
	})
}
