//go:build unix

package process

import (
	"context"
	"net/http"
	"testing"
	"time"
)

// Ensure that a frozen handler answers nothing, is the same process afterwards,
// and goes on with what it was asked.
func TestFrozenHandlerGoesOn(t *testing.T) {
	f := start(t, "serve", nil)
	pid := f.ready(t)
	ctx, thaw := context.WithCancel(t.Context())
	frozen := make(chan error, 1)
	go func() {
		_, err := f.Freeze(ctx)
		frozen <- err
	}()
	client := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func() error {
		resp, err := client.Get(f.url)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	for ask() == nil { // until the signal has arrived
	}
	if ask() == nil {
		t.Error("a frozen handler answers")
	}
	thaw()
	if err := <-frozen; err != nil {
		t.Error(err)
	}
	client.Timeout = 20 * time.Second
	if err := ask(); err != nil || f.PID() != pid {
		t.Errorf("afterwards: %v, process %d, was %d", err, f.PID(), pid)
	}
}

// Ensure that a frozen handler can be killed.
func TestFrozenHandlerDies(t *testing.T) {
	f := start(t, "serve", nil)
	f.ready(t)
	frozen := make(chan bool, 1)
	go func() {
		was, _ := f.Freeze(context.Background())
		frozen <- was
	}()
	f.Kill()
	<-frozen // it ends with the process
}
