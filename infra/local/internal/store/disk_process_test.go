package store

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// writerFolder makes the test binary a process that commits to a folder until it
// is killed.
const writerFolder = "STORE_TEST_WRITER_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerFolder); dir != "" {
		fmt.Fprintln(os.Stderr, write(dir))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// write goes on with what is in the folder, and prints the number of each batch
// that was acknowledged.
func write(dir string) error {
	d, err := OpenDisk(dir, Options{})
	if err != nil {
		return err
	}
	h := new(history)
	for _, value := range d.All("last") {
		var last int
		fmt.Sscan(string(value), &last)
		h.handed = last + 1
		h.acked.Store(int64(last) + 1)
	}
	acked := make(chan int64, 1000)
	for range 8 {
		go func() {
			for {
				done := make(chan struct{})
				h.commit(d, func() {
					acked <- h.acked.Load()
					close(done)
				})
				<-done
			}
		}()
	}
	for n := range acked {
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
	return nil
}

// writer is a process that writes.
type writer struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
}

func startWriter(t *testing.T, dir string) *writer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &writer{cmd: exec.Command(self)}
	w.cmd.Env = append(os.Environ(), writerFolder+"="+dir)
	w.cmd.Stderr = os.Stderr
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	w.lines = bufio.NewScanner(out)
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.cmd.Process.Kill() }) // unless it is dead already
	return w
}

// acked reads until some more batches were acknowledged, and gives how many were
// in all.
func (w *writer) acked(t *testing.T, more int) int64 {
	t.Helper()
	var n int64
	for range more {
		if !w.lines.Scan() {
			t.Fatalf("the writer has ended: %v", w.lines.Err())
		}
		fmt.Sscan(w.lines.Text(), &n)
	}
	return n
}

func (w *writer) kill(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for w.lines.Scan() { // so that Wait may close the pipe
	}
	w.cmd.Wait() // tells only that it was killed
}

// Ensure that kill -9 in the middle of commits, again and again, costs nothing
// that was acknowledged.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	h := new(history)
	for round := range 6 {
		w := startWriter(t, dir)
		acked := w.acked(t, 1+rand.IntN(300))
		w.kill(t)
		what := fmt.Sprintf("round %d, %d acknowledged", round, acked)
		if r := h.check(t, what, files.System{}, dir, acked); r.Clean || r.Fresh {
			t.Errorf("%s: %+v", what, r)
		}
	}
}
