package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

func entry(n int) invariant.LedgerEntry {
	return invariant.LedgerEntry{
		TransactionID: fmt.Sprintf("t-%d", n), OperationID: fmt.Sprintf("o-%d", n), Kind: workflow.OperationStart,
		Body: json.RawMessage(`{"ownerId":"owner-1"}`), AcceptedAt: time.Date(2026, 1, 2, 3, 4, 5, n, time.UTC),
	}
}

// Ensure that every entry is in the file, whole, however many are added at once.
func TestLedgerKeepsAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	l, err := createLedger(path)
	if err != nil {
		t.Fatal(err)
	}
	const clients, each = 20, 20
	var adding sync.WaitGroup
	for c := range clients {
		adding.Go(func() {
			for n := range each {
				if err := l.add(entry(c*each + n)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	adding.Wait()
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	entries, torn, err := readLedger(path)
	if err != nil || torn {
		t.Fatalf("torn %v, error %v", torn, err)
	}
	found := map[string]invariant.LedgerEntry{}
	for _, e := range entries {
		found[e.TransactionID] = e
	}
	for n := range clients * each {
		if diff := cmp.Diff(entry(n), found[entry(n).TransactionID]); diff != "" {
			t.Fatalf("entry %d (-want +got):\n%s", n, diff)
		}
	}
	if len(entries) != clients*each {
		t.Errorf("%d entries, want %d", len(entries), clients*each)
	}
}

// Ensure that a ledger that was cut anywhere gives all whole lines and no other.
func TestLedgerThatIsTorn(t *testing.T) {
	dir := t.TempDir()
	var content []byte
	var ends []int
	for n := range 3 {
		line, err := json.Marshal(entry(n))
		if err != nil {
			t.Fatal(err)
		}
		content = append(append(content, line...), '\n')
		ends = append(ends, len(content))
	}
	path := filepath.Join(dir, "ledger.jsonl")
	for length := range len(content) + 1 {
		if err := os.WriteFile(path, content[:length], 0o600); err != nil {
			t.Fatal(err)
		}
		whole, at := 0, 0
		for _, end := range ends {
			if end <= length {
				whole, at = whole+1, end
			}
		}
		entries, torn, err := readLedger(path)
		if err != nil || len(entries) != whole || torn != (at != length) {
			t.Fatalf("cut at %d: %d entries, torn %v, %v; want %d", length, len(entries), torn, err, whole)
		}
	}
}

func TestLedgerThatIsSpoilt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	for name, content := range map[string]string{"no JSON": "{}x\n", "no ids": "{}\n", "no operation": `{"transactionId":"t"}` + "\n"} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readLedger(path); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%s: error %v, want one with the line", name, err)
		}
	}
}

// slowFile is a file of which the test decides when a sync ends, and how.
type slowFile struct {
	written []string
	syncing chan struct{}
	synced  chan error
}

func (f *slowFile) Write(p []byte) (int, error) {
	f.written = append(f.written, string(p))
	return len(p), nil
}

func (f *slowFile) Sync() error {
	f.syncing <- struct{}{}
	return <-f.synced
}

func (f *slowFile) Close() error { return nil }

// Ensure that nothing counts before it is synced, that what comes meanwhile
// shares the next sync, and that nothing counts after a sync that failed.
func TestLedgerCountsWhatIsSynced(t *testing.T) {
	f := &slowFile{syncing: make(chan struct{}), synced: make(chan error)}
	l := &ledger{file: f}
	results := make(chan error, 10)
	go func() { results <- l.add(entry(0)) }()
	<-f.syncing
	var adding sync.WaitGroup
	for n := range 5 {
		adding.Go(func() { results <- l.add(entry(1 + n)) })
	}
	eventually(t, func() bool { // all five wait behind the first
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.waiting != nil && strings.Count(string(l.waiting.lines), "\n") == 5
	})
	if len(results) != 0 {
		t.Error("an entry counted before it was synced")
	}
	f.synced <- nil
	if err := <-results; err != nil {
		t.Error(err)
	}
	<-f.syncing
	full := errors.New("the disk is full")
	f.synced <- full
	adding.Wait()
	for range 5 {
		if err := <-results; !errors.Is(err, full) {
			t.Errorf("error %v, want %v", err, full)
		}
	}
	if len(f.written) != 2 {
		t.Errorf("%d writes for six entries, want 2", len(f.written))
	}
	if err := l.add(entry(9)); !errors.Is(err, full) {
		t.Errorf("an entry after the failure: %v", err)
	}
}
