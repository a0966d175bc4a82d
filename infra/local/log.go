package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// logFile keeps the log of the runtime and of the handlers. What is serious is
// shown to people as well.
type logFile struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	begun   bytes.Buffer // what was logged before there is a file
	file    *os.File     // nil before serving
	failed  error        // the first error of the file
	console io.Writer
	shown   slog.Level        // from which on lines go to the console, too
	follow  func(line []byte) // is given each line, one at a time; may be nil
}

// newLog begins a log that has no file yet: until this process serves, the file
// is that of another one, whose ports may be the reason why this one can't.
func newLog(path string, console io.Writer, shown slog.Level) *logFile {
	l := &logFile{path: path, console: console, shown: shown}
	l.logger = newLogger(l)
	return l
}

// serving makes the file, since the ports are ours now. The last one is kept
// beside it.
func (l *logFile) serving() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := ownFolder(filepath.Dir(l.path)); err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	if err := os.Rename(l.path, besides(l.path, "previous")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("open log: %w", err)
	}
	file, err := os.OpenFile(l.path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	l.file = file
	l.write(l.begun.Bytes())
	l.begun.Reset()
	return nil
}

// ownFolder makes a folder its owner's alone, also one that was made otherwise:
// addresses and keys may be in a log.
func ownFolder(path string) error {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	return os.Chmod(path, 0o700)
}

// besides is the path of another log in the folder: log.previous.txt for log.txt.
func besides(path, which string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "." + which + extension
}

// consoleLog returns a log that goes to out alone.
func consoleLog(out io.Writer) *logFile {
	l := &logFile{console: out, shown: slog.LevelDebug}
	l.logger = newLogger(l)
	return l
}

// newLogger returns the runtime's own logger; its lines are told from those of
// the handlers by their source.
func newLogger(l *logFile) *slog.Logger {
	return slog.New(slog.NewJSONHandler(lineWriter{l}, nil)).With("source", "runtime")
}

// lineWriter takes the lines of the runtime's own logger.
type lineWriter struct{ l *logFile }

func (w lineWriter) Write(line []byte) (int, error) {
	w.l.add(line)
	return len(line), nil
}

// handlerLine takes a line that a handler wrote to its console.
func (l *logFile) handlerLine(line string, _ bool) { l.add(append([]byte(line), '\n')) }

func (l *logFile) add(line []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.file != nil:
		l.write(line)
	case l.path != "":
		l.begun.Write(line)
	}
	if levelOf(line) >= l.shown {
		fmt.Fprintf(l.console, "%s", line)
	}
	if l.follow != nil {
		l.follow(line)
	}
}

// write takes lines to the file at once, for who follows it. A log that can't be
// written must not stop what it is about: close shows the first error.
func (l *logFile) write(lines []byte) {
	if l.failed == nil {
		_, l.failed = l.file.Write(lines)
	}
}

// levelOf returns the level of a line. What is not from a logger at all, such
// as the trace of a panic, counts as an error.
func levelOf(line []byte) slog.Level {
	if head, rest, ok := bytes.Cut(line, []byte(`","level":"`)); ok && len(head) < 50 && bytes.HasPrefix(head, []byte(`{"time":"`)) {
		// One of slog's: there are many, and to read the whole of each takes longer than
		// to write it.
		name, _, _ := bytes.Cut(rest, []byte(`"`))
		if level := slog.Level(0); level.UnmarshalText(name) == nil {
			return level
		}
	}
	entry := struct{ Level slog.Level }{slog.LevelError}
	if err := json.Unmarshal(line, &entry); err != nil {
		return slog.LevelError
	}
	return entry.Level
}

// close ends the log. That of a process which never served goes beside the file,
// to log.failed.txt.
func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		if l.failed = ownFolder(filepath.Dir(l.path)); l.failed == nil {
			l.failed = os.WriteFile(besides(l.path, "failed"), l.begun.Bytes(), 0o600)
		}
	} else {
		l.failed = errors.Join(l.failed, l.file.Close())
	}
	if l.failed != nil {
		fmt.Fprintf(l.console, "the log: %v\n", l.failed)
	}
}
