package ops

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// app serves Operations with one answer, and notes the requests.
func app(t *testing.T, answer http.HandlerFunc) (*Client, *[]string) {
	t.Helper()
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", r.Method, r.URL.RequestURI(), r.Header.Get("X-Functions-Key"), body)))
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	c, err := NewClient(server.URL+"/api/", Secret{Key: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, &seen
}

func TestClientAsksOperations(t *testing.T) {
	c, seen := app(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	ada := operate.Actor{By: "ada", Why: "fixed"}
	ctx := t.Context()
	for _, ask := range []func() error{
		func() error { _, err := c.Transactions(ctx, url.Values{"state": {"Stuck"}}, `{"a":"b&c"}`); return err },
		func() error { _, err := c.Story(ctx, "t/1?"); return err },
		func() error { _, err := c.Retry(ctx, "t-1", ada); return err },
		func() error { _, err := c.GiveUp(ctx, "t-1", ada); return err },
		func() error { _, err := c.Entries(ctx, "hub.3", "", "Kept", ""); return err },
		func() error { _, err := c.Entries(ctx, "", "", "", ""); return err },
		func() error { _, err := c.Entry(ctx, "hub.3", "hub.3.1"); return err },
		func() error { _, err := c.Act(ctx, "hub.3", "hub.3.1", quarantine.ActRedrive, ada); return err },
		func() error { _, err := c.Act(ctx, "hub.3", "hub.3.1", quarantine.ActDrop, ada); return err },
	} {
		if err := ask(); err != nil {
			t.Error(err)
		}
	}
	want := []string{
		`GET /api/operations/transactions?continuation=%7B%22a%22%3A%22b%26c%22%7D&state=Stuck secret`,
		`GET /api/operations/transactions/t%2F1%3F secret`,
		`POST /api/operations/transactions/t-1/retry secret {"by":"ada","why":"fixed"}`,
		`POST /api/operations/transactions/t-1/giveup secret {"by":"ada","note":"fixed"}`,
		`GET /api/operations/quarantine?source=hub.3&state=Kept secret`,
		`GET /api/operations/quarantine secret`,
		`GET /api/operations/quarantine/hub.3/hub.3.1 secret`,
		`POST /api/operations/quarantine/hub.3/hub.3.1/redrive secret {"by":"ada","why":"fixed"}`,
		`POST /api/operations/quarantine/hub.3/hub.3.1/drop secret {"by":"ada","why":"fixed"}`,
	}
	if diff := cmp.Diff(want, *seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestClientTellsRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   problem.Problem
	}{
		"a problem": {
			func(w http.ResponseWriter, r *http.Request) {
				p := *problem.New(problem.Conflict, "it is Completed")
				p.Instance, p.Extensions = "/x", map[string]any{"state": "Completed"}
				problem.Write(w, r, p)
			},
			problem.Problem{Type: "conflict", Title: problem.Conflict.Title, Status: 409, Detail: "it is Completed", Instance: "/x", Extensions: map[string]any{"state": "Completed"}},
		},
		"no key":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, problem.Problem{Title: "Unauthorized", Status: 401, Detail: "the app wants to know who asks: sign in to Azure and use -audience, or set OPS_TOKEN or OPS_KEY"}},
		"a gateway": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) }, problem.Problem{Title: "Bad Gateway", Status: 502}},
		"half a thing": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", problem.ContentType)
			w.WriteHeader(500)
			fmt.Fprint(w, `{"ty`)
		}, problem.Problem{Title: "Internal Server Error", Status: 500}},
	} {
		t.Run(name, func(t *testing.T) {
			client, _ := app(t, c.answer)
			_, err := client.Story(t.Context(), "t-1")
			var got *problem.Problem
			if !errors.As(err, &got) {
				t.Fatalf("error %v", err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("problem (-want +got):\n%s", diff)
			}
		})
	}
}

func TestClientOfAnotherServer(t *testing.T) {
	client, _ := app(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `<html>`) })
	if _, err := client.Story(t.Context(), "t-1"); err == nil || !strings.Contains(err.Error(), "does not come from Operations") {
		t.Errorf("got %v", err)
	}
}

func TestClientWithoutAServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	client, err := NewClient(server.URL, Secret{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, err = client.Story(t.Context(), "t-1")
	if !errors.Is(err, ErrNotServed) || !strings.Contains(err.Error(), server.URL) {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.Story(ended, "t-1"); !errors.Is(err, context.Canceled) || errors.Is(err, ErrNotServed) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestNewClientRefusesWhatIsNoURL(t *testing.T) {
	for _, app := range []string{"", "127.0.0.1:7071", "ftp://x", "http://", "http://x?y", "http://x#y", "http://[::1"} {
		if _, err := NewClient(app, Secret{}); err == nil {
			t.Errorf("%q was taken", app)
		}
	}
}
