package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
)

// ledger is what the clients know: a file with one answer 202 a line, as JSON.
// An entry counts once it is synced; entries that come at the same time share a
// sync. It is safe for concurrent use.
type ledger struct {
	file file

	mu      sync.Mutex
	waiting *commit // what is not written yet, nil if nothing
	writing bool
	failed  error // of the first write that failed; all that come later fail with it
}

// file is what a ledger needs of an *os.File.
type file interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// commit is a number of entries that are synced together.
type commit struct {
	lines []byte
	done  chan struct{} // closed when err is set
	err   error
}

// createLedger begins a ledger at path, in place of one that is there.
func createLedger(path string) (*ledger, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create the ledger: %w", err)
	}
	return &ledger{file: f}, nil
}

// add notes an answer and returns when it is synced.
func (l *ledger) add(e invariant.LedgerEntry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("note operation %s in the ledger: %w", e.OperationID, err)
	}
	l.mu.Lock()
	if l.failed != nil {
		defer l.mu.Unlock()
		return l.failed
	}
	if l.waiting == nil {
		l.waiting = &commit{done: make(chan struct{})}
	}
	mine := l.waiting
	mine.lines = append(append(mine.lines, line...), '\n')
	write := !l.writing
	l.writing = true
	l.mu.Unlock()
	if write {
		go l.writeAll()
	}
	<-mine.done
	return mine.err
}

// writeAll writes what waits until nothing does. One at a time is under way.
func (l *ledger) writeAll() {
	for {
		l.mu.Lock()
		next := l.waiting
		if next == nil || l.failed != nil {
			l.writing = false
			if next != nil {
				l.waiting, next.err = nil, l.failed
				close(next.done)
			}
			l.mu.Unlock()
			return
		}
		l.waiting = nil
		l.mu.Unlock()
		_, err := l.file.Write(next.lines)
		if err == nil {
			err = l.file.Sync()
		}
		if err != nil {
			next.err = fmt.Errorf("write the ledger: %w", err)
			l.mu.Lock()
			l.failed = next.err
			l.mu.Unlock()
		}
		close(next.done)
	}
}

// close closes the file. Nothing is added any more.
func (l *ledger) close() error {
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("close the ledger: %w", err)
	}
	return nil
}

// readLedger reads the entries at path. A last line without its end was never
// synced as a whole and does not count; torn tells that there is one. Any other
// line that can't be read is an error.
func readLedger(path string) (entries []invariant.LedgerEntry, torn bool, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, false, fmt.Errorf("read the ledger: %w", err)
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	for number, line := range bytes.Split(content[:whole], []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e invariant.LedgerEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, false, fmt.Errorf("read the ledger %s, line %d: %w", path, number+1, err)
		}
		if e.TransactionID == "" || e.OperationID == "" {
			return nil, false, fmt.Errorf("read the ledger %s, line %d: %w", path, number+1, errNoIDs)
		}
		entries = append(entries, e)
	}
	return entries, whole < len(content), nil
}

var errNoIDs = errors.New("an entry without ids")
