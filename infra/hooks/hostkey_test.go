package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

const putKey = "PUT /subscriptions/sub/resourceGroups/rg-dev/providers/Microsoft.Web/sites/func-backends/host/default/functionkeys/workflow"

// withKeys is the environment with AUTH_MODE keys.
func withKeys() map[string]string {
	vars := deployed()
	vars[envAuthMode], vars[envBackendsKey] = "keys", "the-key"
	return vars
}

// Ensure that the key is made once, before anything is provisioned, and kept.
func TestKeysMakesTheBackendsKey(t *testing.T) {
	w := newWorld(t, map[string]string{envName: "dev", envAuthMode: "keys"}, nil)
	w.mustSay(t, exitOK, []string{"keys"}, "made "+envBackendsKey)
	if w.vars[envBackendsKey] != "made-key" || strings.Contains(w.said.String(), "made-key") {
		t.Errorf("key %q, said %s", w.vars[envBackendsKey], w.said.String())
	}
	w.hook.key = func() string { return "another" }
	w.mustSay(t, exitOK, []string{"keys"}, envBackendsKey+" is set")
	if w.vars[envBackendsKey] != "made-key" {
		t.Errorf("key %q", w.vars[envBackendsKey])
	}
	if a, b := randomKey(), randomKey(); len(a) != 43 || a == b {
		t.Errorf("%q and %q", a, b)
	}
}

// Ensure that the backends' host gets the key as soon as it runs.
func TestKey(t *testing.T) {
	var body struct{ Properties struct{ Name, Value string } }
	s := &script{answers: map[string][]answer{putKey: {
		{status: 400, body: `{"Code":"BadRequest","Message":"Encountered an error (ServiceUnavailable) from host runtime."}`}, {status: 503}, {status: 201},
	}}}
	w := newWorld(t, withKeys(), http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err := errors.Join(err, json.Unmarshal(data, &body)); err != nil || r.URL.Query().Get("api-version") == "" {
			t.Errorf("%s %q: %v", r.URL, data, err)
		}
		s.ServeHTTP(rw, r)
	}))
	w.mustSay(t, exitOK, []string{"hostkey"}, "function key workflow of func-backends: works")
	if w.slept != 2*waitPause || body.Properties.Name != "workflow" || body.Properties.Value != "the-key" {
		t.Errorf("waited %v, sent %+v", w.slept, body)
	}
	if strings.Contains(w.said.String(), "the-key") {
		t.Error("the key is told")
	}
	s.answers[putKey] = []answer{{status: 400, body: `{"Code":"BadRequest","Message":"The key is malformed"}`}}
	w.mustSay(t, exitError, []string{"hostkey"}, "The key is malformed")
	vars := deployed()
	newWorld(t, vars, nil).mustSay(t, exitOK, []string{"hostkey"}, "no function keys")
	vars[envAuthMode] = "keys"
	newWorld(t, vars, nil).mustSay(t, exitError, []string{"hostkey"}, "not set: "+envBackendsKey)
}

// refused is what azd says when the platform can't upload.
const refused = `ERROR: failed deploying service 'workflow': publishing zip file: deployment failed: InaccessibleStorageException: Failed to access storage account for deployment: BlobUploadFailedException: Failed to upload blob to storage account: Response status code does not indicate success: 403`

func TestDeployAgainWhileTheUploadIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		says  []string // by azd, in turn; "" succeeds; the last for ever
		exit  int
		want  []string
		calls int
	}{
		{"at once", []string{""}, exitOK, nil, 1},
		{"refused twice", []string{refused, refused, ""}, exitOK, []string{"the upload was refused", "next try in 30s"}, 3},
		{"another error", []string{"ERROR: not logged in"}, exitError, []string{"azd deploy: exit status 1", "not logged in"}, 1},
		{"for ever", []string{refused}, exitError, []string{"still refused after 1m0s", "run azd provision again"}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, deployed(), nil)
			var calls []string
			w.azd = func(_ context.Context, out io.Writer, args ...string) error {
				says := c.says[min(len(calls), len(c.says)-1)]
				calls = append(calls, strings.Join(args, " "))
				fmt.Fprintln(out, says)
				if says != "" {
					return errors.New("exit status 1")
				}
				return nil
			}
			w.mustSay(t, c.exit, []string{"deploy", "-timeout", "1m"}, c.want...)
			if len(calls) != c.calls || calls[0] != "deploy --all --no-prompt -e dev" || w.slept != time.Duration(c.calls-1)*deployPause {
				t.Errorf("calls %q, waited %v", calls, w.slept)
			}
		})
	}
}
