package main

import (
	"bufio"
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
	file    *os.File
	buffer  *bufio.Writer
	console io.Writer
	shown   slog.Level // from which on lines go to the console, too
}

// openLog begins a new log. The last one is kept beside it: it may be that of a
// serve which still runs, and whose ports are the reason why this one can't.
func openLog(path string, console io.Writer, shown slog.Level) (*logFile, error) {
	// Addresses and keys may be in it: its folder is its owner's alone, also one
	// that was made otherwise.
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.Chmod(filepath.Dir(path), 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	if err := os.Rename(path, previousLog(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &logFile{path: path, file: file, buffer: bufio.NewWriter(file), console: console, shown: shown}
	l.logger = newLogger(l)
	return l, nil
}

// previousLog is where the last log is kept: log.previous.txt for log.txt.
func previousLog(path string) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + ".previous" + extension
}

// consoleLog returns a log that goes to out alone.
func consoleLog(out io.Writer) *logFile {
	l := &logFile{buffer: bufio.NewWriter(io.Discard), console: out, shown: slog.LevelDebug}
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
	level := levelOf(line)
	// A log that can't be written must not stop what it is about: the buffer
	// keeps its first error, and close shows it.
	l.buffer.Write(line)
	if level >= slog.LevelWarn {
		l.buffer.Flush()
	}
	if level >= l.shown {
		fmt.Fprintf(l.console, "%s", line)
	}
}

// levelOf returns the level of a line. What is not from a logger at all, such
// as the trace of a panic, counts as an error.
func levelOf(line []byte) slog.Level {
	entry := struct{ Level slog.Level }{slog.LevelError}
	if err := json.Unmarshal(line, &entry); err != nil {
		return slog.LevelError
	}
	return entry.Level
}

func (l *logFile) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.buffer.Flush(); err != nil {
		fmt.Fprintf(l.console, "write %s: %v\n", l.path, err)
	}
	if err := l.file.Close(); err != nil {
		fmt.Fprintf(l.console, "close %s: %v\n", l.path, err)
	}
}
