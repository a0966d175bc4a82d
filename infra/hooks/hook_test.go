package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// signedIn is a credential that always has a token, which names its scope.
type signedIn struct{}

func (signedIn) GetToken(_ context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{Token: strings.Join(o.Scopes, " "), ExpiresOn: time.Now().Add(time.Hour)}, nil
}

// signedOut is a credential of nobody.
type signedOut struct{ error }

func (s signedOut) GetToken(context.Context, policy.TokenRequestOptions) (azcore.AccessToken, error) {
	return azcore.AccessToken{}, s
}

func (signedOut) NonRetriable() {}

// world is a hook with a clock that only sleeping moves, in a project of its own.
type world struct {
	*hook
	said, errors bytes.Buffer
	vars         map[string]string
	set          []string // variables that were set, in order
	slept        time.Duration
}

// newWorld serves every service by one handler.
func newWorld(t *testing.T, vars map[string]string, handler http.Handler) *world {
	t.Helper()
	w := &world{vars: vars}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	w.hook = &hook{
		out: &w.said, project: t.TempDir(), suffix: func() string { return "0a1b2c3d" }, key: func() string { return "made-key" },
		env: func(name string) string { return w.vars[name] },
		clock: clock{
			now: func() time.Time { return now.Add(w.slept) },
			sleep: func(ctx context.Context, d time.Duration) error {
				w.slept += d
				return ctx.Err()
			},
		},
		credential: func(string) (azcore.TokenCredential, error) { return signedIn{}, nil },
		envValues: func(_ context.Context, name string) (map[string]string, error) {
			return nil, fmt.Errorf("environment %s does not exist", name)
		},
		setEnv: func(_ context.Context, name, value string) error {
			w.vars[name] = value
			w.set = append(w.set, name)
			return nil
		},
	}
	data, err := os.ReadFile(filepath.Join("..", "..", settingsFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.project, settingsFile), data, 0o644); err != nil {
		t.Fatal(err)
	}
	if handler != nil {
		server := httptest.NewTLSServer(handler)
		t.Cleanup(server.Close)
		w.graphURL, w.managerURL = server.URL, server.URL
		w.transport = server.Client()
		for _, name := range []string{envBlobs, envCosmosDB} {
			if _, ok := vars[name]; ok {
				vars[name] = server.URL + "/"
			}
		}
	}
	return w
}

// call runs a command and returns its exit code.
func (w *world) call(t *testing.T, args ...string) int {
	t.Helper()
	w.said.Reset()
	w.errors.Reset()
	return run(t.Context(), w.hook, args, &w.errors)
}

// mustSay fails unless a call ends with that code and says all of the texts.
func (w *world) mustSay(t *testing.T, exit int, args []string, texts ...string) {
	t.Helper()
	got := w.call(t, args...)
	out := w.said.String() + w.errors.String()
	if got != exit {
		t.Fatalf("%q: exit %d, want %d\n%s", args, got, exit, out)
	}
	for _, text := range texts {
		if !strings.Contains(out, text) {
			t.Errorf("%q: no %q in\n%s", args, text, out)
		}
	}
}

func TestUsage(t *testing.T) {
	w := newWorld(t, map[string]string{}, nil)
	w.mustSay(t, exitOK, []string{"-h"}, "auth", "wait", "grant", "deploy", "hostkey", "settings")
	w.mustSay(t, exitUsage, nil, "name a command")
	w.mustSay(t, exitUsage, []string{"nothing"}, `unknown "nothing"`)
	w.mustSay(t, exitUsage, []string{"auth", "more"}, `unexpected "more"`)
	w.mustSay(t, exitUsage, []string{"wait", "-for", "ever"}, "-for")
	w.mustSay(t, exitOK, []string{"wait", "-h"}, "give up after this time", "10m")
	w.mustSay(t, exitUsage, []string{"wait", "-timeout", "0s"}, "-timeout 0s")
}

func TestInterrupted(t *testing.T) {
	w := newWorld(t, deployed(), http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }))
	ctx, cancel := context.WithCancel(t.Context())
	w.clock.sleep = func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if exit := run(ctx, w.hook, []string{"wait"}, &w.errors); exit != exitInterrupted {
		t.Errorf("exit %d: %s", exit, w.errors.String())
	}
}

// Ensure that no token is sent where it could be read.
func TestNoTokenWithoutTLS(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer server.Close()
	w := newWorld(t, map[string]string{envName: "dev", envAuthAppName: "a"}, nil)
	w.graphURL = server.URL
	w.mustSay(t, exitError, []string{"auth"}, "TLS")
	if asked != 0 {
		t.Errorf("%d requests", asked)
	}
}

func TestSystemClock(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := systemClock()
	if err := c.sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("slept with %v", err)
	}
	if err := c.sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
}

func TestRandomSuffix(t *testing.T) {
	a, b := randomSuffix(), randomSuffix()
	if len(a) != 8 || a == b {
		t.Errorf("%q and %q", a, b)
	}
}

// answer is what a service answers.
type answer struct {
	status int
	header string // value of x-ms-error-code
	body   string
}

// script answers the requests to each path in turn, the last answer for ever.
type script struct {
	answers map[string][]answer // by method and path
	asked   []string
	header  http.Header // of the last request
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := r.Method + " " + r.URL.Path
	s.asked = append(s.asked, key)
	s.header = r.Header.Clone()
	all := s.answers[key]
	if len(all) == 0 {
		w.WriteHeader(http.StatusNotImplemented)
		return
	}
	if len(all) > 1 {
		s.answers[key] = all[1:]
	}
	if all[0].header != "" {
		w.Header().Set("x-ms-error-code", all[0].header)
	}
	w.WriteHeader(all[0].status)
	fmt.Fprint(w, all[0].body)
}

// count is how often something was asked.
func (s *script) count(key string) int {
	return len(slices.DeleteFunc(slices.Clone(s.asked), func(k string) bool { return k != key }))
}
