package trial

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func TestFromFile(t *testing.T) {
	read, err := FromFile([]byte(`{
		"settings": {"FLEET_DRONES": "7"},
		"before": [{"method": "PUT", "path": "account/a", "body": {"name": "A"}}, {"method": "DELETE", "path": "x"}],
		"samples": [
			{"kind": "plain", "text": "done", "end": "Completed", "body": {"id": "p-{name}", "at": "{now}", "by": "{later}"}},
			{"kind": "odd", "percent": 5, "end": "Rejected", "body": {}},
			{"kind": "malformed", "percent": 2, "body": []}
		],
		"change": {"by": "{later}"}
	}`))
	if err != nil {
		t.Fatal(err)
	}
	d := Draw{Random: rand.New(rand.NewPCG(1, 1)), Name: "n-1", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	body, err := json.Marshal(read.Kinds[0].Draw(d))
	if want := `{"id":"p-n-1","at":"2026-01-02T03:04:05Z","by":"2026-01-02T04:04:05Z"}`; err != nil || string(body) != want {
		t.Errorf("draws %s, %v", body, err)
	}
	change, err := json.Marshal(read.Change(d, body))
	if err != nil || string(change) != `{"by":"2026-01-02T04:04:05Z"}` {
		t.Errorf("changes %s, %v", change, err)
	}
	if k := read.Kinds; len(k) != 3 || k[0].Percent != 0 || k[0].Text != "done" || k[1].End != workflow.Rejected || k[1].Percent != 5 || k[2].End != "" {
		t.Errorf("kinds %+v", k)
	}
	if c := read.Before; len(c) != 2 || c[0].Method != "PUT" || c[0].Path != "account/a" || read.Settings(10)["FLEET_DRONES"] != "7" {
		t.Errorf("before %+v", c)
	}
	if call, err := json.Marshal(read.Before[1].Body); err != nil || string(call) != "null" || read.Before[1].Body != nil {
		t.Errorf("a call without a body has %s, %v", call, err)
	}
	if read, err := FromFile([]byte(`{"samples":[{"kind":"a","end":"Completed","body":{}}]}`)); err != nil || read.Change != nil {
		t.Errorf("what can't be changed is: %v", err)
	}
}

func TestMistakesInAFile(t *testing.T) {
	for content, want := range map[string]string{
		`{"sample":[]}`: `unknown field "sample"`,
		`{}{}`:          "more than one JSON value",
		`{}`:            "0 samples with an end have no percent",
		`{"samples":[{"kind":"a","end":"Completed","body":{}},{"kind":"b","end":"Completed","body":{}}]}`: "2 samples with an end have no percent",
		`{"samples":[{"kind":"a","end":"Stuck","body":{}}]}`:                                              "samples[0]: it needs",
		`{"samples":[{"end":"Completed","body":{}}]}`:                                                     "samples[0]: it needs",
		`{"samples":[{"kind":"a","end":"Completed"}]}`:                                                    "samples[0]: it needs",
		`{"samples":[{"kind":"a","percent":101,"body":{}}]}`:                                              "samples[0]: it needs",
	} {
		if _, err := FromFile([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", content, err, want)
		}
	}
}
