//go:build unix

package stage_test

import "syscall"

// withUmask runs do with another umask, which is the whole process's.
func withUmask(mask int, do func()) {
	defer syscall.Umask(syscall.Umask(mask))
	do()
}
