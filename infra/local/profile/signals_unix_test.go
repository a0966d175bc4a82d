//go:build unix

package profile

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

const childVariable = "PROFILE_TEST_CHILD"

// TestMain lets the test binary be the process that is profiled.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	Obey("child")
	os.Stdout.WriteString("ready")
	os.Stdin.Read(make([]byte, 1)) // until the test ends
}

// Ensure that a process writes whole profiles for each Begin and End.
func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1", Variable+"="+dir)
	input, err := child.StdinPipe()
	output, err2 := child.StdoutPipe()
	if err := errors.Join(err, err2, child.Start()); err != nil {
		t.Fatal(err)
	}
	defer child.Wait() // its exit code is 0 or the test has failed
	defer input.Close()
	if _, err := output.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	// The one signal could overtake the other: each is seen to before the next is sent.
	for set := 1; set <= 2; set++ {
		tell(t, child, Begin, filepath.Join(dir, "child-*-"+strconv.Itoa(set)+".cpu.pprof.part"))
		tell(t, child, End, filepath.Join(dir, "child-*-"+strconv.Itoa(set)+".cpu.pprof"))
	}
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 4 {
		t.Errorf("%v, %v; want two profiles of each kind", found, err)
	}
	for _, path := range found {
		if data, err := os.ReadFile(path); err != nil || len(data) < 3 || data[0] != 0x1f || data[1] != 0x8b { // gzip
			t.Errorf("%s: %d bytes, %v", path, len(data), err)
		}
	}
}

// tell sends a signal and waits until there is a file that follows from it.
func tell(t *testing.T, child *exec.Cmd, what os.Signal, pattern string) {
	t.Helper()
	if err := child.Process.Signal(what); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(2 * time.Minute)
	for {
		if found, err := filepath.Glob(pattern); len(found) == 1 || err != nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no %s", pattern)
		}
	}
}
