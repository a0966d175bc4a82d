package store

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// lockName is the file by which others are kept out.
const lockName = "LOCK"

// claim takes a folder for this process: it makes a new one with its label, or
// opens that of one which is there. What is no data folder is left as it is.
// The caller closes both.
func claim(fsys files.FS, dir string) (lock io.Closer, l *label, fresh bool, err error) {
	if err := makeFolder(fsys, dir); err != nil {
		return nil, nil, false, err
	}
	// Once without the lock, so that nothing is left in a folder that isn't ours.
	if err := checkForeign(fsys, dir); err != nil {
		return nil, nil, false, err
	}
	lock, err = fsys.Lock(filepath.Join(dir, lockName))
	if errors.Is(err, fs.ErrPermission) {
		return nil, nil, false, err
	} else if err != nil {
		return nil, nil, false, fmt.Errorf("%w (%w)", ErrInUse, err)
	}
	l, err = openLabel(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		fresh = true
		if err = checkForeign(fsys, dir); err == nil {
			err = createLabel(fsys, dir)
		}
		if err == nil {
			l, err = openLabel(fsys, dir)
		}
	}
	if err != nil {
		return nil, nil, false, errors.Join(err, lock.Close())
	}
	return lock, l, fresh, nil
}

// checkForeign refuses a folder that has no label and yet more than what an
// unfinished creation leaves.
func checkForeign(fsys files.FS, dir string) error {
	names, err := fsys.List(dir)
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
func makeFolder(fsys files.FS, dir string) error {
	info, err := fsys.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFolder(fsys, filepath.Dir(dir)); err != nil {
			return err
		}
		if err := fsys.MkdirAll(dir); err != nil {
			return err
		}
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", dir)
	}
	return syncFolder(fsys, filepath.Dir(dir))
}

// writeFile makes a file with content that is there whole, and durable, or not
// at all.
func writeFile(fsys files.FS, dir, name string, content []byte) error {
	temporary := filepath.Join(dir, name+temporarySuffix)
	file, err := fsys.Create(temporary)
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
	if err := fsys.Rename(temporary, filepath.Join(dir, name)); err != nil {
		return err
	}
	return syncFolder(fsys, dir)
}

// temporarySuffix ends the names of files that are not finished.
const temporarySuffix = ".unfinished"

func syncFolder(fsys files.FS, dir string) error {
	if err := fsys.SyncDir(dir); err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return nil
}
