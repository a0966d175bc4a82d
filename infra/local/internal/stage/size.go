package stage

import (
	"fmt"
	"io/fs"
	"path/filepath"
)

// Size is how large a staged app is.
type Size struct {
	Files int
	Bytes int64 // of all files, before they are packed
}

// SizeOf measures a staged app.
func SizeOf(dir string) (Size, error) {
	var size Size
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		size.Files++
		size.Bytes += info.Size()
		return nil
	})
	if err != nil {
		return Size{}, fmt.Errorf("stage: size of %s: %w", dir, err)
	}
	return size, nil
}

// String is for people.
func (s Size) String() string { return fmt.Sprintf("%d files, %.1f MB", s.Files, float64(s.Bytes)/1e6) }
