package store

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// lockName is the file by which Pebble keeps other processes out.
const lockName = "LOCK"

// claim takes a folder for this process: it makes a new one with its label, or
// opens that of one which is there. What is no data folder is left as it is.
// The caller closes both.
func claim(files vfs.FS, dir string) (lock *pebble.Lock, l *label, fresh bool, err error) {
	if err := makeFolder(files, dir); err != nil {
		return nil, nil, false, err
	}
	// Once without the lock, so that nothing is left in a folder that isn't ours.
	if err := checkForeign(files, dir); err != nil {
		return nil, nil, false, err
	}
	lock, err = pebble.LockDirectory(dir, files)
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, false, err
	} else if err != nil {
		return nil, nil, false, fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	l, err = openLabel(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		fresh = true
		if err = checkForeign(files, dir); err == nil {
			err = createLabel(files, dir)
		}
		if err == nil {
			l, err = openLabel(files, dir)
		}
	}
	if err != nil {
		return nil, nil, false, errors.Join(err, lock.Close())
	}
	return lock, l, fresh, nil
}

// checkForeign refuses a folder that has no label and yet more than what an
// unfinished creation leaves.
func checkForeign(files vfs.FS, dir string) error {
	names, err := files.List(dir)
	if err != nil {
		return err
	}
	if slices.Contains(names, labelName) {
		return nil
	}
	for _, name := range names {
		if name != lockName && name != labelName+temporarySuffix {
			return fmt.Errorf("%w: it has files such as %s and no %s", ErrForeign, name, labelName)
		}
	}
	return nil
}

// makeFolder makes a folder with those above it that are missing, so that it is
// not gone after a power cut. They are their owner's alone: documents are in it.
func makeFolder(files vfs.FS, dir string) error {
	info, err := files.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFolder(files, files.PathDir(dir)); err != nil {
			return err
		}
		if err := files.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	}
	return syncFolder(files, files.PathDir(dir))
}

// writeFile makes a file with content that is there whole, and durable, or not
// at all.
func writeFile(files vfs.FS, dir, name string, content []byte) error {
	temporary := files.PathJoin(dir, name+temporarySuffix)
	file, err := files.Create(temporary, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := files.Rename(temporary, files.PathJoin(dir, name)); err != nil {
		return err
	}
	return syncFolder(files, dir)
}

// temporarySuffix ends the names of files that are not finished.
const temporarySuffix = ".unfinished"

func syncFolder(files vfs.FS, dir string) error {
	folder, err := files.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	if err := errors.Join(folder.Sync(), folder.Close()); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}
