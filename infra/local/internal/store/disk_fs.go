package store

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// folderFS is a file system as Pebble is to see it: one on which all writing
// works. Pebble has no way out when it doesn't: it panics in the middle of
// things, or gives up the process. So the first error ends the Disk, and the
// goroutine that met it stays, with what it has locked, until the process ends.
type folderFS struct {
	vfs.FS
	fail     func(error)
	hideLogs bool // to see what the tables hold without the logs
}

var _ vfs.FS = folderFS{}

// must does not return when something went wrong.
func (f folderFS) must(err error, what, name string) {
	if err != nil {
		f.fail(fmt.Errorf("%s %s: %w", what, name, err))
		select {}
	}
}

func (f folderFS) file(file vfs.File, err error, name string) (vfs.File, error) {
	f.must(err, "create", name)
	return folderFile{file, f, name}, nil
}

// Create implements [vfs.FS]. A marker names another file, which must not be gone
// after a power cut when the marker is there.
func (f folderFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if strings.HasPrefix(f.PathBase(name), "marker.") {
		f.must(syncFolder(f.FS, f.PathDir(name)), "create", name)
	}
	file, err := f.FS.Create(name, category)
	return f.file(file, err, name)
}

// ReuseForWrite makes a new file, as the interface allows: behind the end of a
// log there must not be another one's remains, which look like a torn end.
func (f folderFS) ReuseForWrite(old, name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	f.must(f.Remove(old), "remove", old)
	return f.Create(name, category)
}

// OpenDir implements [vfs.FS].
func (f folderFS) OpenDir(name string) (vfs.File, error) {
	file, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return folderFile{file, f, name}, nil
}

// Link implements [vfs.FS].
func (f folderFS) Link(old, name string) error {
	f.must(f.FS.Link(old, name), "link", name)
	return nil
}

// Rename implements [vfs.FS].
func (f folderFS) Rename(old, name string) error {
	f.must(f.FS.Rename(old, name), "rename", old)
	return nil
}

// List implements [vfs.FS].
func (f folderFS) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	if f.hideLogs {
		names = slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".log") })
	}
	return names, err
}

// Unwrap implements [vfs.FS].
func (f folderFS) Unwrap() vfs.FS { return f.FS }

// folderFile is a file that Pebble writes, or a folder that it syncs.
type folderFile struct {
	vfs.File
	fs   folderFS
	name string
}

// Write implements [vfs.File].
func (f folderFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.fs.must(err, "write", f.name)
	return n, nil
}

// Sync implements [vfs.File].
func (f folderFile) Sync() error {
	f.fs.must(f.File.Sync(), "sync", f.name)
	return nil
}

// SyncData implements [vfs.File].
func (f folderFile) SyncData() error {
	f.fs.must(f.File.SyncData(), "sync", f.name)
	return nil
}

// SyncTo implements [vfs.File].
func (f folderFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	f.fs.must(err, "sync", f.name)
	return full, nil
}

// Close implements [vfs.File].
func (f folderFile) Close() error {
	f.fs.must(f.File.Close(), "close", f.name)
	return nil
}
