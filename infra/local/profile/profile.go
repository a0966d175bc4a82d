// Package profile lets a process write profiles of itself when it is told to by
// signals, so that it listens nowhere. The local runtime has it always, the handler
// only if it is built with the tag profile.
package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// Variable names the folder for the profiles in the environment of a process that is
// to write them.
const Variable = "PROFILE_DIR"

// file is a profile that is written under another name until it is whole.
type file struct {
	*os.File
	path string
}

func create(dir, name string) (file, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return file{}, err
	}
	path := filepath.Join(dir, name)
	f, err := os.Create(path + ".part")
	return file{f, path}, err
}

// finish gives the file its name, if nothing went wrong.
func (f file) finish(err error) error {
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.path+".part", f.path)
}

// profiles writes one set of profiles after the other.
type profiles struct {
	dir, name string
	set       int
	cpu       *file // nil while none is written
}

// begin starts the profile of CPU time.
func (p *profiles) begin() error {
	if p.cpu != nil {
		return nil // it is on
	}
	p.set++
	f, err := create(p.dir, p.named("cpu"))
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(err, f.Close())
	}
	p.cpu = &f
	return nil
}

// end writes what was allocated since the start of the process, and then the profile
// of CPU time.
func (p *profiles) end() error {
	if p.cpu == nil {
		return nil
	}
	cpu := *p.cpu
	p.cpu = nil
	pprof.StopCPUProfile()
	allocs, err := create(p.dir, p.named("allocs"))
	if err == nil {
		err = allocs.finish(pprof.Lookup("allocs").WriteTo(allocs, 0))
	}
	return errors.Join(err, cpu.finish(nil))
}

func (p *profiles) named(kind string) string {
	return fmt.Sprintf("%s-%d-%d.%s.pprof", p.name, os.Getpid(), p.set, kind)
}
