//go:build unix

package files

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Lock implements [FS], as flock does.
func (System) Lock(name string) (io.Closer, error) {
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(&os.PathError{Op: "lock", Path: name, Err: err}, file.Close())
	}
	return file, nil
}

// Full reports whether an error says that there is no space left.
func Full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// SyncDir implements [FS].
func (System) SyncDir(dir string) error {
	folder, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
