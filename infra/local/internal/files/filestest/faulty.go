package filestest

import (
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// Op is what is done with a file system.
type Op string

// The operations that change something.
const (
	Create  Op = "create"
	Rename  Op = "rename"
	Remove  Op = "remove"
	Write   Op = "write"
	WriteAt Op = "write at"
	Sync    Op = "sync"
	SyncDir Op = "sync folder"
)

// Hooks is a file system of which each change can be refused, and watched.
type Hooks struct {
	files.FS
	// Before is called before a change of name; its error is the change's. nil
	// lets all happen.
	Before func(op Op, name string) error
	// After is called when the change was made; nil is not.
	After func(op Op, name string)
}

func (h Hooks) do(op Op, name string, f func() error) error {
	if h.Before != nil {
		if err := h.Before(op, name); err != nil {
			return err
		}
	}
	err := f()
	if err == nil && h.After != nil {
		h.After(op, name)
	}
	return err
}

// Create implements [files.FS].
func (h Hooks) Create(name string) (f files.File, err error) {
	err = h.do(Create, name, func() (err error) { f, err = h.FS.Create(name); return err })
	return h.file(f, name, err)
}

// OpenReadWrite implements [files.FS].
func (h Hooks) OpenReadWrite(name string) (files.File, error) {
	f, err := h.FS.OpenReadWrite(name)
	return h.file(f, name, err)
}

func (h Hooks) file(f files.File, name string, err error) (files.File, error) {
	if err != nil {
		return nil, err
	}
	return hookedFile{f, h, name}, nil
}

// Remove implements [files.FS].
func (h Hooks) Remove(name string) error {
	return h.do(Remove, name, func() error { return h.FS.Remove(name) })
}

// Rename implements [files.FS].
func (h Hooks) Rename(from, to string) error {
	return h.do(Rename, from, func() error { return h.FS.Rename(from, to) })
}

// SyncDir implements [files.FS].
func (h Hooks) SyncDir(dir string) error {
	return h.do(SyncDir, dir, func() error { return h.FS.SyncDir(dir) })
}

type hookedFile struct {
	files.File
	h    Hooks
	name string
}

// Write implements [files.File].
func (f hookedFile) Write(b []byte) (n int, err error) {
	err = f.h.do(Write, f.name, func() (err error) { n, err = f.File.Write(b); return err })
	return n, err
}

// WriteAt implements [files.File].
func (f hookedFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.h.do(WriteAt, f.name, func() (err error) { n, err = f.File.WriteAt(b, at); return err })
	return n, err
}

// Sync implements [files.File].
func (f hookedFile) Sync() error { return f.h.do(Sync, f.name, f.File.Sync) }
