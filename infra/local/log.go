package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
)

// logFile keeps the log of the runtime and of the handlers. Warnings and errors
// are shown to people as well; with verbose, everything is.
type logFile struct {
	path   string
	logger *slog.Logger

	mu      sync.Mutex
	file    *os.File
	buffer  *bufio.Writer
	console io.Writer
	verbose bool
}

func openLog(path string, console io.Writer, verbose bool) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	l := &logFile{path: path, file: file, buffer: bufio.NewWriter(file), console: console, verbose: verbose}
	l.logger = newLogger(l)
	return l, nil
}

// consoleLog returns a log that goes to out alone.
func consoleLog(out io.Writer) *logFile {
	l := &logFile{buffer: bufio.NewWriter(io.Discard), console: out, verbose: true}
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
	// A log that can't be written must not stop what it is about; close says so.
	if _, err := l.buffer.Write(line); err == nil && serious(line) {
		err = l.buffer.Flush()
	}
	if l.verbose || serious(line) {
		fmt.Fprintf(l.console, "%s", line)
	}
}

// serious reports whether people should see a line: warnings, errors, and what
// is not from a logger at all, such as the trace of a panic.
func serious(line []byte) bool {
	var entry struct{ Level slog.Level }
	if err := json.Unmarshal(line, &entry); err != nil {
		return true
	}
	return entry.Level >= slog.LevelWarn
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
