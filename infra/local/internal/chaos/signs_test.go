package chaos

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host"
)

// Ensure that signs are read from whole lines, once each, while the log grows,
// and from the log of every life.
func TestSignsAreReadFromTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.txt")
	s := newSigns(path, "things")
	if err := s.look(); err != nil {
		t.Fatalf("without a log: %v", err)
	}
	look := func() {
		t.Helper()
		if err := s.look(); err != nil {
			t.Fatal(err)
		}
	}
	note(t, path, `{"level":"WARN","msg":"lease lost, results dropped","transaction":"a"}`+"\n"+`{"level":"WARN","msg":"the trigger has ski`)
	look()
	look()
	note(t, path, `pped events","read":3}`+"\n")
	note(t, path, `{"msg":"fault injection: a late call has arrived","status":204}`+"\n"+`{"msg":"fault injection: a late call has arrived","status":410}`+"\n")
	note(t, path, `{"msg":"dead letter","reason":"MaxDeliveryCountExceeded"}`+"\n"+`{"msg":"operation of a dead letter put on record"}`+"\n")
	note(t, path, `{"msg":"lease taken over"}`+"\n"+`{"msg":"undone, whether it was done or not"}`+"\n"+`{"msg":"other","error":"lease taken over"}`+"\n")
	for _, resource := range []string{"things", "others"} {
		note(t, path, `{"msg":"`+host.Repeated+`","request":"DELETE /api/`+resource+`/t-1"}`+"\n")
	}
	note(t, path, `{"msg":"lease taken over"`)
	if err := s.ended(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	note(t, path, `{"msg":"lease taken over"}`+"\n")
	look()
	want := map[Sign]int{LeasesLost: 1, GapsFilled: 1, LateRefused: 1, DeadLetters: 1, Rescued: 1, LeasesTaken: 2, UnknownUndone: 1, Repeated: 1}
	if diff := cmp.Diff(want, s.counts); diff != "" {
		t.Error(diff)
	}
}
