package tree

import (
	"os/exec"
	"syscall"
	"testing"
)

// Ensure that a process that has ended isn't waited for, though its parent hasn't
// seen it yet, and that one that runs is.
func TestWhatHasEndedIsNotLeft(t *testing.T) {
	path := fake(t, "child")
	first, second := exec.Command(path), exec.Command(path)
	first.SysProcAttr = attributes()
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	second.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: first.Process.Pid}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer second.Wait() // tells only that it was killed
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	first.Wait() // tells only that it was killed
	if !anyLeft(first.Process) {
		t.Error("the group has one that runs")
	}
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return !anyLeft(first.Process) })
}
