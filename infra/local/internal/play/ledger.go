package play

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// ledger is the file of a service: one entry a line, as JSON. A last line without
// its end was not kept, and the next entry takes its place. It is safe for concurrent
// use.
type ledger struct {
	lock io.Closer // nobody else writes

	mu     sync.Mutex
	file   files.File
	end    int64 // of the last entry
	failed error // of the first entry that could not be kept; all that come later fail with it
}

// Folder is that of the ledgers in a folder that keeps the state.
func Folder(data string) string { return filepath.Join(data, "services") }

func ledgerFile(folder, service string) string { return filepath.Join(folder, service+".jsonl") }

// openLedger opens the ledger of a service, and returns its entries so far.
func openLedger(fsys files.FS, folder, service string) (*ledger, json.RawMessage, error) {
	l, entries, err := lockedLedger(fsys, folder, ledgerFile(folder, service))
	if err != nil {
		return nil, nil, fmt.Errorf("open the ledger of %s: %w", service, err)
	}
	return l, entries, nil
}

func lockedLedger(fsys files.FS, folder, name string) (*ledger, json.RawMessage, error) {
	if err := fsys.MkdirAll(folder); err != nil {
		return nil, nil, err
	}
	lock, err := fsys.Lock(name + ".lock")
	if err != nil {
		return nil, nil, err
	}
	l := &ledger{lock: lock}
	if _, missing := fsys.Stat(name); missing == nil {
		l.file, err = fsys.OpenReadWrite(name)
	} else {
		l.file, err = fsys.Create(name)
	}
	for _, dir := range []string{folder, filepath.Dir(folder)} {
		if err == nil {
			err = fsys.SyncDir(dir)
		}
	}
	var content []byte
	if err == nil {
		content, err = files.ReadAll(fsys, name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.close())
	}
	entries, end := entriesOf(content)
	l.end = int64(end)
	return l, entries, nil
}

// entriesOf returns the whole lines of a ledger as a JSON array, and where they end.
func entriesOf(content []byte) (entries json.RawMessage, end int) {
	end = bytes.LastIndexByte(content, '\n') + 1
	lines := bytes.TrimSuffix(content[:end], []byte("\n"))
	return fmt.Appendf(nil, "[%s]", bytes.ReplaceAll(lines, []byte("\n"), []byte(","))), end
}

// keep adds an entry and returns when it is on disk.
func (l *ledger) keep(entry any) error {
	line, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if _, err = l.file.WriteAt(line, l.end); err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.failed = fmt.Errorf("write the ledger: %w", err)
		return l.failed
	}
	l.end += int64(len(line))
	return nil
}

func (l *ledger) close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}

// Ledgers reads what services have kept in a folder, by name. Each must have been
// opened there once; it may go on meanwhile.
func Ledgers(folder string, services []trial.Service) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	for _, s := range services {
		content, err := files.ReadAll(files.System{}, ledgerFile(folder, s.Name))
		if err != nil {
			return nil, fmt.Errorf("read the ledger of %s: %w", s.Name, err)
		}
		all[s.Name], _ = entriesOf(content)
	}
	return all, nil
}
