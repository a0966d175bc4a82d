package store

import (
	"errors"
	"fmt"
)

// Why a folder can't be opened. None of them has changed anything in it.
var (
	// ErrInUse: another process has the folder open.
	ErrInUse = errors.New("in use by another process")
	// ErrForeign: the folder holds files, and they are not a Disk's.
	ErrForeign = errors.New("not a data folder of the local runtime")
	// ErrNewer: a later version of the runtime has written the folder.
	ErrNewer = errors.New("written by a newer version of the runtime")
	// ErrOlder: a version of the runtime has written the folder whose format is
	// not known any more.
	ErrOlder = errors.New("written by an older version of the runtime")
	// ErrDamaged: something that was acknowledged can't be read any more.
	ErrDamaged = errors.New("damaged")
)

// damaged says which file of a data folder shows the damage, and how.
func damaged(file, format string, args ...any) error {
	return fmt.Errorf("%w: file %s: %w", ErrDamaged, file, fmt.Errorf(format, args...))
}
