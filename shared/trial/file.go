package trial

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// file is a trial of nothing but samples, as JSON.
type file struct {
	// Settings are those of the app while the samples are sent.
	Settings map[string]string `json:"settings"`
	Before   []struct {
		Method string          `json:"method"`
		Path   string          `json:"path"`
		Body   json.RawMessage `json:"body"`
	} `json:"before"`
	Samples []struct {
		Kind    string          `json:"kind"`
		Text    string          `json:"text"`
		Percent int             `json:"percent"`
		End     workflow.State  `json:"end"` // "" is refused with 400
		Body    json.RawMessage `json:"body"`
	} `json:"samples"`
	// Change is what clients change about a request; left out if they can't.
	Change json.RawMessage `json:"change"`
}

// ends are the states in which a sample may end.
var ends = []workflow.State{"", workflow.Completed, workflow.Rejected, workflow.Compensated}

// FromFile returns the trial that a JSON file describes: samples, calls before them,
// and settings. In all texts of a body {name} stands for the request's name, {now}
// for when it is sent, and {later} for the hour after that, both by RFC 3339. The
// error names what is wrong.
func FromFile(data []byte) (Trial, error) {
	var f file
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&f); err != nil {
		return Trial{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Trial{}, errors.New("there is more than one JSON value")
	}
	t := Trial{Settings: func(int) map[string]string { return f.Settings }}
	for _, c := range f.Before {
		call := Call{Method: c.Method, Path: c.Path}
		if c.Body != nil { // else there is none, not one that is null
			call.Body = c.Body
		}
		t.Before = append(t.Before, call)
	}
	if f.Change != nil {
		t.Change = func(d Draw, _ json.RawMessage) any { return filled(f.Change, d) }
	}
	var errs []error
	usual := 0
	for i, s := range f.Samples {
		if s.Kind == "" || s.Body == nil || !slices.Contains(ends, s.End) || s.Percent < 0 || s.Percent > 100 {
			errs = append(errs, fmt.Errorf("samples[%d]: it needs a kind, a body, a percent from 0 to 100, and one of %q for an end", i, ends))
		}
		if s.Percent == 0 && s.End != "" {
			usual++
		}
		t.Kinds = append(t.Kinds, Kind{Name: s.Kind, Text: s.Text, Percent: s.Percent, End: s.End,
			Draw: func(d Draw) any { return filled(s.Body, d) }})
	}
	if usual != 1 {
		errs = append(errs, fmt.Errorf("%d samples with an end have no percent, want one: it takes the rest", usual))
	}
	return t, errors.Join(errs...)
}

// filled is a body with what stands for something put in.
func filled(body json.RawMessage, d Draw) json.RawMessage {
	for mark, text := range map[string]string{
		"{name}": d.Name, "{now}": d.At.UTC().Format(time.RFC3339), "{later}": d.At.Add(time.Hour).UTC().Format(time.RFC3339),
	} {
		body = bytes.ReplaceAll(body, []byte(mark), []byte(text))
	}
	return body
}
