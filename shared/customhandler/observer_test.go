package customhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
)

// recorder is an observer that writes down what it is told.
type recorder struct{ told []string }

type observedKey struct{}

func (r *recorder) Event(ctx context.Context, i *Invocation) (context.Context, func(error)) {
	return context.WithValue(ctx, observedKey{}, i.ID), func(err error) { r.told = append(r.told, fmt.Sprint(i.Function, " ", err)) }
}

func (r *recorder) Request(ctx context.Context, _ *http.Request, function, route string) (context.Context, func(int)) {
	return context.WithValue(ctx, observedKey{}, function), func(status int) {
		r.told = append(r.told, fmt.Sprint(function, " ", route, " ", status))
	}
}

// unobserved is an observer that looks away.
type unobserved struct{}

func (unobserved) Event(ctx context.Context, _ *Invocation) (context.Context, func(error)) {
	return ctx, func(error) {}
}

func (unobserved) Request(ctx context.Context, _ *http.Request, _, _ string) (context.Context, func(int)) {
	return ctx, func(int) {}
}

func TestObserverOfEvents(t *testing.T) {
	var seen recorder
	c := config()
	c.Observer = &seen
	events := NewEvents(c)
	handle := func(fn EventFunc) {
		w := &watched{ResponseRecorder: httptest.NewRecorder(), before: func() { seen.told = append(seen.told, "answered") }}
		events.Handler("Schedule", 0, fn).ServeHTTP(w, eventRequest())
	}
	handle(func(ctx context.Context, _ *Invocation) error {
		if ctx.Value(observedKey{}) != "i-1" {
			t.Error("the observer's context is not used")
		}
		return nil
	})
	handle(func(context.Context, *Invocation) error { return errors.New("no drone") })
	handle(func(context.Context, *Invocation) error { panic("lost") })
	want := []string{"Schedule <nil>", "answered", "Schedule no drone", "answered", "Schedule panic: lost", "answered"}
	if !slices.Equal(seen.told, want) {
		t.Errorf("told %q, want %q", seen.told, want)
	}
}

// watched tells when an answer begins.
type watched struct {
	*httptest.ResponseRecorder
	before func()
}

func (w *watched) WriteHeader(status int) {
	w.before()
	w.ResponseRecorder.WriteHeader(status)
}

func eventRequest() (r *http.Request) {
	post(http.HandlerFunc(func(_ http.ResponseWriter, made *http.Request) { r = made }), nil)
	return r
}

func TestObserverOfRequests(t *testing.T) {
	var seen recorder
	serve := func(h http.HandlerFunc) {
		defer func() { _ = recover() }()
		Web("F", "/api/x/{id}", &seen, quiet(), h).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/api/x/1", nil))
	}
	serve(func(w http.ResponseWriter, r *http.Request) {
		if r.Context().Value(observedKey{}) != "F" {
			t.Error("the observer's context is not used")
		}
		w.WriteHeader(http.StatusCreated)
	})
	serve(func(http.ResponseWriter, *http.Request) { panic("inside") })
	serve(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		panic("in the middle")
	})
	if want := []string{"F /api/x/{id} 201", "F /api/x/{id} 500", "F /api/x/{id} 200"}; !slices.Equal(seen.told, want) {
		t.Errorf("told %q, want %q", seen.told, want)
	}
}
