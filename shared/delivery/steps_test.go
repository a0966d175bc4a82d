package delivery

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func step(t *testing.T, name string) workflow.Step {
	t.Helper()
	for _, s := range Steps().Steps {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no step %s", name)
	return workflow.Step{}
}

func canonical(t *testing.T, body string) json.RawMessage {
	t.Helper()
	r, err := Parse([]byte(body), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestStepsAreInOrder(t *testing.T) {
	after := map[string][]string{}
	var order []string
	for _, s := range Steps().Steps {
		for _, before := range s.After {
			if _, listed := after[before]; !listed {
				t.Errorf("%s is after %s, which is not listed before it", s.Name, before)
			}
		}
		if (s.Undo == nil) != (s.Name == StepAccount) {
			t.Errorf("undo of %s: %v", s.Name, s.Undo != nil)
		}
		after[s.Name] = s.After
		order = append(order, s.Name)
	}
	if got, want := strings.Join(order, " "), "account package transportation drone delivery"; got != want {
		t.Errorf("got %s", got)
	}
	want := map[string][]string{
		"account": nil, "package": {"account"}, "transportation": {"account"},
		"drone": {"package", "transportation"}, "delivery": {"drone"},
	}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
}

func TestCalls(t *testing.T) {
	in := workflow.Input{
		TransactionID: "t-1", Revision: 1, Request: canonical(t, full),
		Results: map[string]json.RawMessage{"drone": json.RawMessage(`{"id":"t-1","droneId":"zone-001-00002","zone":"zone-001",
			"departAt":"2026-01-31T14:55:00Z","pickupAt":"2026-01-31T15:00:00Z","arriveAt":"2026-01-31T15:20:00Z"}`)},
	}
	const (
		places = `"pickup":{"latitude":47.6,"longitude":-122.3,"altitude":12.5},"dropOff":{"latitude":47.7,"longitude":-122.1}`
		times  = `"pickupTime":"2026-01-31T15:00:00Z","deliverBy":"2026-01-31T18:00:00.5Z"`
	)
	tests := []struct{ step, method, path, body string }{
		{"account", "GET", "account/owner-1", ``},
		{"package", "PUT", "packages/p-1", `{"ownerId":"owner-1","size":"Small","weightKg":1.5,"tag":"fragile"}`},
		{"transportation", "PUT", "thirdpartydeliveries/t-1", `{` + places + `}`},
		{"drone", "PUT", "dronedeliveries/t-1", `{` + places + `,"pickupTime":"2026-01-31T15:00:00Z",` +
			`"packageDetail":{"id":"p-1","size":"Small","weightKg":1.5},"expedited":true}`},
		{"delivery", "PUT", "deliveries/t-1", `{"ownerId":"owner-1","packageId":"p-1",` + places + `,` + times +
			`,"expedited":true,"confirmationRequired":"Picture","droneId":"zone-001-00002",` +
			`"departAt":"2026-01-31T14:55:00Z","pickupAt":"2026-01-31T15:00:00Z","arriveAt":"2026-01-31T15:20:00Z"}`},
	}
	for _, tt := range tests {
		t.Run(tt.step, func(t *testing.T) {
			s := step(t, tt.step)
			got := s.Call(in)
			want := workflow.Call{Backend: tt.step, Method: tt.method, Path: tt.path}
			if tt.body != "" {
				want.Body = json.RawMessage(tt.body)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(got, s.Call(in)); diff != "" {
				t.Errorf("the same input gives another call:\n%s", diff)
			}
			if s.Undo == nil {
				return
			}
			if diff := cmp.Diff(workflow.Call{Backend: tt.step, Method: "DELETE", Path: tt.path}, s.Undo(in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCallsOfWhatCannotBeReadHaveNoBody(t *testing.T) {
	for name, in := range map[string]workflow.Input{
		"request":    {TransactionID: "t", Request: json.RawMessage(`{"ownerId":5}`)},
		"no request": {TransactionID: "t"},
	} {
		for _, s := range Steps().Steps {
			if call := s.Call(in); call.Backend != s.Name || call.Body != nil {
				t.Errorf("%s: %s: %+v", name, s.Name, call)
			}
		}
	}
	in := workflow.Input{TransactionID: "t", Request: canonical(t, full), Results: map[string]json.RawMessage{"drone": []byte(`5`)}}
	if call := step(t, StepDelivery).Call(in); call.Body != nil {
		t.Errorf("result of the drone step: %+v", call)
	}
}

func TestAcceptAccount(t *testing.T) {
	tests := []struct{ result, want string }{
		{`{"id":"o","name":"n","status":"active"}`, ""},
		{`{"id":"o","name":"n","status":"suspended"}`, "account o is suspended"},
		{`{}`, "the account service's answer holds no account"},
		{`true`, "the account service's answer holds no account"},
		{``, "the account service's answer holds no account"},
	}
	for _, tt := range tests {
		err := step(t, StepAccount).Accept(json.RawMessage(tt.result))
		if got := errorText(err); got != tt.want {
			t.Errorf("%s: got %q", tt.result, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestAffected(t *testing.T) {
	tests := []struct {
		change string
		want   string
	}{
		{`{"pickup":{"latitude":1,"longitude":2}}`, "transportation drone delivery"},
		{`{"dropOff":{"latitude":1,"longitude":2}}`, "transportation drone delivery"},
		{`{"pickupTime":"2026-01-31T17:00:00Z"}`, "drone delivery"},
		{`{"deliverBy":"2026-01-31T19:00:00Z"}`, "delivery"},
		{`{"deliverBy":"2026-01-31T19:00:00.5+01:00"}`, ""}, // the same time
	}
	for _, tt := range tests {
		t.Run(tt.change, func(t *testing.T) {
			before := canonical(t, full)
			after, err := Steps().Merge(before, json.RawMessage(tt.change))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range Steps().Steps {
				if s.Affected != nil && s.Affected(before, after) {
					got = append(got, s.Name)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	if s := step(t, StepDelivery); !s.Affected(json.RawMessage(`?`), canonical(t, full)) {
		t.Error("an unreadable request leaves the step out")
	}
}

func TestMergeOfTheDefinitionRefuses(t *testing.T) {
	request := canonical(t, full)
	for _, change := range []string{`{}`, `{"pickupTime":"2026-02-01T00:00:00Z"}`, `{"ownerId":"o"}`, `?`} {
		got, err := Steps().Merge(request, json.RawMessage(change))
		if err == nil || problem.From(err).Status != 400 {
			t.Errorf("%s: %s, %v", change, got, err)
		}
	}
}

func TestChangeableUntilThePickup(t *testing.T) {
	pickup := time.Date(2026, 1, 31, 15, 0, 0, 0, time.UTC)
	tests := []struct {
		result string
		want   time.Time
	}{
		{`{"id":"t","pickupAt":"2026-01-31T15:00:00Z"}`, pickup},
		{`{"id":"t"}`, time.Time{}},
		{`{"pickupAt":5}`, time.Time{}},
		{``, time.Time{}},
	}
	for _, tt := range tests {
		in := workflow.Input{Results: map[string]json.RawMessage{"delivery": json.RawMessage(tt.result)}}
		if got := Steps().ChangeableUntil(in); !got.Equal(tt.want) {
			t.Errorf("%s: got %v", tt.result, got)
		}
	}
}
