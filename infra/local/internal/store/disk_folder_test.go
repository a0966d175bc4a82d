package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

// Ensure that a folder that is not a Disk's, or a newer one's, is refused and
// left as it is.
func TestFolderRefused(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  error
	}{
		"somebody's files":       {map[string]string{"letter.txt": "Dear Alice"}, ErrForeign},
		"a database without us":  {map[string]string{"MANIFEST-000001": "x", "LOCK": ""}, ErrForeign},
		"another's label":        {map[string]string{"label": "Fragile, this side up\n"}, ErrForeign},
		"a label without number": {map[string]string{"label": labelText + "one\n"}, ErrForeign},
		"a newer label":          {map[string]string{"label": labelText + "3\n", "data": "?"}, ErrNewer},
		"an older label":         {map[string]string{"label": labelText + "1\n", "data": "?"}, ErrOlder},
		"a label without slots":  {map[string]string{"label": labelText + "2\n"}, ErrDamaged},
		"a label alone, used": {map[string]string{
			"label": labelWith(progress{turn: 7, commit: 3})}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := filestest.NewMemory()
			if err := fsys.MkdirAll(folder); err != nil {
				t.Fatal(err)
			}
			for name, text := range c.files {
				replace(t, fsys, name, []byte(text))
			}
			_, err := OpenDisk(folder, Options{FS: fsys})
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), "data folder data") {
				t.Errorf("%v, want %v", err, c.want)
			}
			after := all(t, fsys)
			if _, locked := c.files["LOCK"]; !locked {
				delete(after, "LOCK") // a label is only looked at with the lock held
			}
			if diff := cmp.Diff(c.files, after); diff != "" {
				t.Errorf("the folder was changed:\n%s", diff)
			}
		})
	}
	fsys := filestest.NewMemory()
	file, err := fsys.Create("data")
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
	if _, err := OpenDisk("data", Options{FS: fsys}); err == nil || !strings.Contains(err.Error(), "is no folder") {
		t.Errorf("a file in the place of the folder: %v", err)
	}
}

// labelWith is the text of a label whose second slot is torn.
func labelWith(p progress) string {
	content := make([]byte, 3*slotSize)
	copy(content, labelText+"2\n")
	copy(content[slotSize:], p.encode())
	copy(content[2*slotSize:], p.encode()[:10])
	return string(content)
}

// Ensure that something left by a creation that was broken off is no obstacle.
func TestUnfinishedCreation(t *testing.T) {
	fsys := filestest.NewMemory()
	if err := fsys.MkdirAll(folder); err != nil {
		t.Fatal(err)
	}
	replace(t, fsys, "LOCK", nil)
	replace(t, fsys, "label.unfinished", []byte("Fab"))
	d := openDisk(t, fsys, folder)
	defer closeDisk(t, d)
	if want := (Recovery{Fresh: true, Clean: true}); d.Recovery() != want {
		t.Errorf("%+v, want %+v", d.Recovery(), want)
	}
}

func TestRecoveryTellsOfTheLastStop(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	for i, want := range []Recovery{{Fresh: true, Clean: true}, {Clean: true}, {Clean: true}} {
		d := openDisk(t, files.System{}, dir)
		if d.Recovery() != want {
			t.Errorf("opening %d: %+v, want %+v", i, d.Recovery(), want)
		}
		apply(t, d, fmt.Sprintf("a=%d", i))
		closeDisk(t, d)
		closeDisk(t, d) // again
	}
	if _, err := os.Stat(filepath.Join(dir, labelName)); err != nil {
		t.Error(err)
	}
}

// Ensure that two Disks never have one folder, in one process or in two.
func TestFolderInUse(t *testing.T) {
	dir := t.TempDir()
	p := startWriter(t, dir)
	p.acked(t, 1)
	wantInUse := func(where string) {
		t.Helper()
		if _, err := OpenDisk(dir, Options{}); !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), dir) {
			t.Errorf("open in %s: %v", where, err)
		}
	}
	wantInUse("another process")
	p.kill(t)
	d := openDisk(t, files.System{}, dir)
	wantInUse("this process")
	closeDisk(t, d)
	closeDisk(t, openDisk(t, files.System{}, dir))
}

func TestLabelSlots(t *testing.T) {
	for name, c := range map[string]struct {
		change func(content []byte) []byte
		want   progress
		err    error
	}{
		"as written":      {func(b []byte) []byte { return b }, progress{turn: 4, commit: 9}, nil},
		"the last torn":   {func(b []byte) []byte { b[slotSize+12] ^= 1; return b }, progress{turn: 3, commit: 8, clean: true}, nil},
		"the first torn":  {func(b []byte) []byte { b[2*slotSize] ^= 1; return b }, progress{turn: 4, commit: 9}, nil},
		"cut":             {func(b []byte) []byte { return b[:2*slotSize+20] }, progress{turn: 4, commit: 9}, nil},
		"both torn":       {func(b []byte) []byte { clear(b[slotSize:]); return b }, progress{}, ErrDamaged},
		"only the header": {func(b []byte) []byte { return bytes.Clone(b[:slotSize]) }, progress{}, ErrDamaged},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := filestest.NewMemory()
			if err := fsys.MkdirAll(folder); err != nil {
				t.Fatal(err)
			}
			if err := createLabel(fsys, folder); err != nil {
				t.Fatal(err)
			}
			l, err := openLabel(fsys, folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range []progress{{commit: 7}, {commit: 8, clean: true}, {commit: 9}} {
				if err := l.write(p.commit, p.clean); err != nil {
					t.Fatal(err)
				}
			}
			replace(t, fsys, labelName, c.change(content(t, fsys, labelName)))
			again, err := openLabel(fsys, folder)
			if !errors.Is(err, c.err) {
				t.Fatalf("%v, want %v", err, c.err)
			}
			if err == nil && again.last != c.want {
				t.Errorf("%+v, want %+v", again.last, c.want)
			}
		})
	}
}
