package main

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Ensure that a log keeps the one before it, that one which never served takes
// the place of none, and that each line is in the file when it was logged.
func TestLogsInOneFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local", "log.txt")
	begin := func(text string) *logFile {
		l := newLog(path, io.Discard, slog.LevelError)
		l.logger.Info(text + " starts")
		return l
	}
	has := func(name string, texts ...string) {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			if !strings.Contains(string(data), text) {
				t.Errorf("%s holds %q, want %q in it", name, data, text)
			}
		}
	}
	first := begin("first")
	if err := first.serving(); err != nil {
		t.Fatal(err)
	}
	first.logger.Info("first serves")
	has("log.txt", "first starts", "first serves")

	failed := begin("second")
	failed.close()
	has("log.failed.txt", "second starts")
	first.logger.Info("first still serves")
	has("log.txt", "first starts", "first still serves")

	third := begin("third")
	if err := third.serving(); err != nil {
		t.Fatal(err)
	}
	has("log.txt", "third starts")
	has("log.previous.txt", "first still serves")
	for name, mode := range map[string]os.FileMode{"log.txt": 0o600, "log.previous.txt": 0o600, "log.failed.txt": 0o600, "": 0o700} {
		if info, err := os.Stat(filepath.Join(filepath.Dir(path), name)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != mode {
			t.Errorf("%q is open to others: %v, %v", name, info.Mode(), err)
		}
	}
	first.close()
	third.close()
}

// Ensure that the level is found in lines of slog and of others, and that what is no
// logger's, or was cut off, counts as an error.
func TestLevelOf(t *testing.T) {
	var line strings.Builder
	slog.New(slog.NewJSONHandler(&line, nil)).Warn("text", "level", "INFO")
	for text, want := range map[string]slog.Level{
		line.String():                            slog.LevelWarn,
		`{"level":"INFO","msg":"of another"}`:    slog.LevelInfo,
		`{"time":"10:00","level":"DEBUG-2"}`:     slog.LevelDebug - 2,
		`{"time":"10:00","level":"none"}`:        slog.LevelError,
		`panic: {"time":"10:00","level":"INFO"}`: slog.LevelError,
		`{"time":"10:00"`:                        slog.LevelError,
	} {
		if got := levelOf([]byte(text)); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func BenchmarkLevelOf(b *testing.B) {
	var line bytes.Buffer
	slog.New(slog.NewJSONHandler(&line, nil)).Info("transaction changed its state", "transaction.id", "d0-1-3f2a", "operation.id",
		"0199", "state", "Completed", "from", "Running", "cause", "", "reason", "", "function", "Schedule")
	b.ReportAllocs()
	for b.Loop() {
		if levelOf(line.Bytes()) != slog.LevelInfo {
			b.Fatal(line.String())
		}
	}
}
