// Package files is the file system for the emulators' store, which must tell
// written data from durable data. Tests use file systems that lose or refuse
// things; see package filestest.
package files

import (
	"io"
	"io/fs"
	"os"
)

// FS is a file system. Names are those of package path/filepath. Implementations
// are safe for concurrent use.
type FS interface {
	// Create makes a file for writing. One that is there is replaced.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// OpenReadWrite opens a file that is there for both.
	OpenReadWrite(name string) (File, error)
	Remove(name string) error
	Rename(from, to string) error
	MkdirAll(dir string) error
	// List gives the names of what is in a folder, without it, in no order.
	List(dir string) ([]string, error)
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes durable which files a folder has.
	SyncDir(dir string) error
	// Lock makes a file, if it is not there, and keeps all others from locking
	// it, in this process and in others, until it is closed or the process ends.
	Lock(name string) (io.Closer, error)
}

// File is an open file. Write appends to what was written before through the
// same File. It is for one goroutine at a time, but for ReadAt.
type File interface {
	io.Writer
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes durable what was written, but not the file's name.
	Sync() error
}

// System is the file system of the operating system. What it makes is for its
// owner alone.
type System struct{}

var _ FS = System{}

// Create implements [FS].
func (System) Create(name string) (File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
}

// Open implements [FS].
func (System) Open(name string) (File, error) { return os.Open(name) }

// OpenReadWrite implements [FS].
func (System) OpenReadWrite(name string) (File, error) { return os.OpenFile(name, os.O_RDWR, 0) }

// Remove implements [FS].
func (System) Remove(name string) error { return os.Remove(name) }

// Rename implements [FS].
func (System) Rename(from, to string) error { return os.Rename(from, to) }

// MkdirAll implements [FS].
func (System) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// Stat implements [FS].
func (System) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// List implements [FS].
func (System) List(dir string) ([]string, error) {
	folder, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer folder.Close() // only read
	return folder.Readdirnames(-1)
}

// ReadAll reads a file whole.
func ReadAll(files FS, name string) ([]byte, error) {
	info, err := files.Stat(name)
	if err != nil {
		return nil, err
	}
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	content := make([]byte, info.Size())
	n, err := file.ReadAt(content, 0)
	if n == len(content) {
		err = nil
	}
	return content, err
}
