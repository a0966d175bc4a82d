package meter

import (
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBelow(t *testing.T) {
	// The ids of processes start anew at some time: a child may have a smaller one.
	all := []Process{{PID: 9, Parent: 7}, {PID: 1}, {PID: 7, Parent: 3}, {PID: 3, Parent: 1}, {PID: 4, Parent: 1}, {PID: 2, Parent: 9}}
	want := []Process{{PID: 2, Parent: 9}, {PID: 3, Parent: 1}, {PID: 7, Parent: 3}, {PID: 9, Parent: 7}}
	if diff := cmp.Diff(want, below(all, 3)); diff != "" {
		t.Error(diff)
	}
	if got := below(all, 99); got != nil {
		t.Errorf("of no process: %v", got)
	}
}

func TestShare(t *testing.T) {
	m := Machine{Cores: 2, Busy: 10 * time.Second}
	for busy, want := range map[time.Duration]float64{0: 0, 10 * time.Second: 0, 13 * time.Second: 0.75, 20 * time.Second: 1} {
		if got := m.Share(Machine{Cores: 2, Busy: busy}, 2*time.Second); got != want {
			t.Errorf("busy for %v: %v, want %v", busy, got, want)
		}
	}
	if got := m.Share(m, 0); got != 0 {
		t.Errorf("in no time: %v", got)
	}
}

// Ensure that a process that works is seen to, by itself and in the machine.
func TestMeasuresItself(t *testing.T) {
	before, err := ReadMachine()
	if errors.Is(err, ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	cpu := func() time.Duration {
		processes, err := Tree(os.Getpid())
		if err != nil || len(processes) == 0 || processes[0].PID != os.Getpid() || processes[0].RSS < 1<<20 {
			t.Fatalf("%+v, %v", processes, err)
		}
		return processes[0].CPU
	}
	first, deadline := cpu(), time.Now().Add(30*time.Second)
	for cpu()-first < 50*time.Millisecond {
		if time.Now().After(deadline) {
			t.Fatal("it has worked for 30 s and no CPU time was seen")
		}
	}
	after, err := ReadMachine()
	if err != nil {
		t.Fatal(err)
	}
	if after.Busy-before.Busy < 30*time.Millisecond || after.Cores < 1 {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

// Ensure that the most memory of a process is told, and forgotten.
func TestResidentMemory(t *testing.T) {
	resident := func() (int64, int64) {
		now, peak, err := Resident(os.Getpid())
		if errors.Is(err, ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil || now < 1<<20 || peak < now {
			t.Fatalf("%d now, at most %d, %v", now, peak, err)
		}
		return now, peak
	}
	before, _ := resident()
	const size = 64 << 20
	block := make([]byte, size)
	for i := range block {
		block[i] = 1 // pages that nobody writes to are not resident
	}
	runtime.KeepAlive(block)
	block = nil
	debug.FreeOSMemory()
	if _, peak := resident(); peak < before+size/2 {
		t.Errorf("at most %d, after %d more than %d", peak, size, before)
	}
	if err := ForgetPeak(os.Getpid()); err != nil {
		t.Fatal(err)
	}
	// The race detector keeps its shadow of the block: what counts is what is there now.
	if now, peak := resident(); peak > now+size/2 {
		t.Errorf("at most %d, %d now, though that is forgotten", peak, now)
	}
	if _, _, err := Resident(-1); err == nil {
		t.Error("no error of no process")
	}
}
