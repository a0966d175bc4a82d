package workflow_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

var update = flag.Bool("update", false, "write the golden files")

// Ensure the stored form of a document does not change by accident: documents
// outlive the code that wrote them.
func TestStoredForm(t *testing.T) {
	const file = "testdata/progress.json"
	want := workflowtest.FullProgress("t-1")
	got, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(golden), string(got)); diff != "" {
		t.Errorf("stored form (-golden +got):\n%s", diff)
	}
	var read workflow.Progress
	if err := json.Unmarshal(golden, &read); err != nil {
		t.Fatal(err)
	}
	again, err := json.MarshalIndent(&read, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(append(again, '\n'), golden) {
		t.Errorf("a document that is read and written is another:\n%s", again)
	}
}

func TestEmptyFieldsAreNotStored(t *testing.T) {
	got, err := json.Marshal(workflowtest.Trip().New("t", workflowtest.Start, workflow.Limits{}))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"id":"t","schema":1,"state":"Accepted","revision":1,"completeBy":"2026-03-01T12:00:00.000Z","steps":[` +
		`{"name":"hotel","state":"Pending","effect":"no","revision":0,"attempts":0},` +
		`{"name":"flight","state":"Pending","effect":"no","revision":0,"attempts":0},` +
		`{"name":"payment","state":"Pending","effect":"no","revision":0,"attempts":0}],` +
		`"operations":[],"saves":0,"wake":0}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Ensure stored instants sort as strings as they do in time.
func TestInstantOrder(t *testing.T) {
	times := []time.Time{
		workflowtest.Start.Add(-time.Hour), workflowtest.Start, workflowtest.Start.Add(time.Millisecond),
		workflowtest.Start.Add(100 * time.Millisecond), workflowtest.Start.Add(time.Second).In(time.FixedZone("x", -3600)),
	}
	for i := 1; i < len(times); i++ {
		if a, b := workflow.At(times[i-1]).String(), workflow.At(times[i]).String(); a >= b {
			t.Errorf("%s is not before %s", a, b)
		}
	}
}
