package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// A second serve in the same folder, which fails for the ports, must not take
// the log from the one that runs.
func TestNewLogKeepsTheLastOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "local", "log.txt")
	var logs []*logFile
	for range 2 {
		l, err := openLog(path, io.Discard, slog.LevelError)
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, l)
	}
	logs[0].logger.Info("of the first")
	logs[1].logger.Info("of the second")
	for _, l := range logs {
		l.close()
	}
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the log is open to others: %v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("its folder is open to others: %v, %v", info.Mode(), err)
	}
	for name, want := range map[string]string{"log.txt": "of the second", "log.previous.txt": "of the first"} {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(path), name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), want) {
			t.Errorf("%s holds %q, want %q in it", name, data, want)
		}
	}
}
