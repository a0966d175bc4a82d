package files

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// Lock implements [FS]: nobody else can open the file meanwhile.
func (System) Lock(name string) (io.Closer, error) {
	path, err := windows.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	const alone = 0
	handle, err := windows.CreateFile(path, windows.GENERIC_READ|windows.GENERIC_WRITE, alone, nil,
		windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, &os.PathError{Op: "lock", Path: name, Err: err}
	}
	return os.NewFile(uintptr(handle), name), nil
}

// Full reports whether an error says that there is no space left.
func Full(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}

// SyncDir implements [FS]. A folder can't be synced on Windows: NTFS journals
// names by itself.
func (System) SyncDir(string) error { return nil }
