package tree

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// attributes put the tree into a process group of its own, and have the kernel
// kill it when the thread that started it ends, whatever ended it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// anyLeft reports whether the process's group has members that run. One whose
// threads have all ended holds nothing any more, and stays in the group until init
// has seen it, which may take seconds.
func anyLeft(p *os.Process) bool {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	return slices.ContainsFunc(stats, func(path string) bool {
		stat, err := os.ReadFile(path)
		return err == nil && runs(string(stat), p.Pid) // without an error it is still there
	})
}

// runs reports whether what the kernel tells of a process, as in proc_pid_stat(5),
// is of one in that group that has not ended.
func runs(stat string, group int) bool {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name may have spaces
	state, in, threads := fields[0], fields[2], fields[17]
	return in == strconv.Itoa(group) && (state != "Z" && state != "X" || threads != "1" && threads != "0")
}
