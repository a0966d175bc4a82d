package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/trial"
)

// Samples are the requests that are sent, and what the app needs for them.
type Samples struct {
	// Resource is the path of what clients ask for, below the host's prefix.
	Resource string
	// Body returns the body of the nth request. It is safe for concurrent use.
	Body func(n int) []byte
	// Steps are the names of the steps, which are those of the backends that they
	// call.
	Steps []string
	// Answers are what stands for a backend's answer, by step; an empty object if
	// there is none.
	Answers map[string]json.RawMessage
	// Settings are the app's while the requests are sent.
	Settings map[string]string
	// Before does what must be done before the first request, such as to open
	// accounts, in the app at a URL; nil for nothing.
	Before func(ctx context.Context, app string) error
}

// Mocked returns the settings with which the app calls other backends than its own:
// each below URL/STEP.
func (s Samples) Mocked(url string) map[string]string {
	settings := maps.Clone(s.Settings)
	if settings == nil {
		settings = map[string]string{}
	}
	for _, step := range s.Steps {
		settings["BACKEND_"+strings.ToUpper(step)+"_URL"] = url + "/" + step
	}
	return settings
}

// enough is for how many requests an app is set up that nothing is scarce in.
const enough = 10_000

// FromTrial returns samples that are all of the trial's usual kind. resource and
// steps are those of its business; what is drawn follows from the seed, but for the
// ids, which no other run has.
func FromTrial(t trial.Trial, resource string, steps []string, seed uint64) (Samples, error) {
	usual := slices.IndexFunc(t.Kinds, func(k trial.Kind) bool { return k.Percent == 0 && k.End != "" })
	if usual < 0 {
		return Samples{}, errors.New("the trial has no usual kind of requests")
	}
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	s := Samples{Resource: resource, Steps: steps, Answers: map[string]json.RawMessage{}, Before: before(t.Before)}
	s.Body = func(n int) []byte {
		body, err := json.Marshal(t.Kinds[usual].Draw(trial.Draw{
			Random: rand.New(rand.NewPCG(seed, uint64(n))), Name: run + "-" + strconv.Itoa(n), At: time.Now(),
		}))
		if err != nil {
			panic(fmt.Sprintf("a sample request can't be written: %v", err)) // plain data
		}
		return body
	}
	if t.Settings != nil {
		s.Settings = t.Settings(enough)
	}
	for step, answer := range t.Answers {
		body, err := json.Marshal(answer)
		if err != nil {
			return s, fmt.Errorf("the trial's answer for %s: %w", step, err)
		}
		s.Answers[step] = body
	}
	return s, nil
}

// before makes the calls that come before the first request.
func before(calls []trial.Call) func(context.Context, string) error {
	return func(ctx context.Context, app string) error {
		for _, call := range calls {
			body, err := json.Marshal(call.Body)
			if err != nil {
				return err
			}
			req, err := http.NewRequestWithContext(ctx, call.Method, app+"/api/"+call.Path, bytes.NewReader(body))
			if err != nil {
				return err
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				return fmt.Errorf("prepare the app: %w", err)
			}
			answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
			if err = errors.Join(err, resp.Body.Close()); err != nil || resp.StatusCode >= 300 {
				return errors.Join(fmt.Errorf("prepare the app: %s %s: status %d: %s", call.Method, call.Path, resp.StatusCode, answer), err)
			}
		}
		return nil
	}
}

// file is the form of a file of requests.
type file struct {
	Requests []json.RawMessage `json:"requests"`
}

// WithRequests returns samples whose requests come from a file instead, in turns:
// {"requests": [...]}. In their texts {{id}} stands for a text that no other request
// has, {{now}} for the time, {{tomorrow}} for a day later.
func (s Samples) WithRequests(path string) (Samples, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return s, fmt.Errorf("read the samples: %w", err)
	}
	var f file
	if err := json.Unmarshal(data, &f); err != nil {
		return s, fmt.Errorf("read the samples in %s: %w", path, err)
	}
	if len(f.Requests) == 0 {
		return s, fmt.Errorf("read the samples in %s: %w", path, errNoRequests)
	}
	run := strconv.FormatInt(time.Now().UnixNano(), 36)
	s.Body = func(n int) []byte {
		now := time.Now().UTC()
		return []byte(strings.NewReplacer(
			"{{id}}", run+"-"+strconv.Itoa(n), "{{now}}", now.Format(time.RFC3339), "{{tomorrow}}", now.Add(24*time.Hour).Format(time.RFC3339),
		).Replace(string(f.Requests[n%len(f.Requests)])))
	}
	return s, nil
}

var errNoRequests = errors.New(`no requests; the form is {"requests": [...]}`)
