package store

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
)

// folder is where the damage tests have their Disk.
const folder = "data"

// broken is what a killed process leaves: commits that were acknowledged, and
// behind them one that was written to the log and not acknowledged.
type broken struct {
	*history
	files *filestest.Memory
	log   string
	whole []byte // all of the log
	acked int    // bytes of it that were acknowledged
}

// breakOff makes acked commits of one batch each, and one more.
func breakOff(t *testing.T, acked int, filler string) *broken {
	t.Helper()
	fsys := filestest.NewMemory()
	b := &broken{history: &history{filler: filler}}
	armed := false
	d := openDisk(t, watched(fsys, func(when string) {
		if armed && when == "before" {
			b.files = copyAll(fsys)
			armed = false
		}
	}), folder)
	b.run(d, 1, acked)
	b.log = lastLog(t, fsys)
	b.acked = len(content(t, fsys, b.log))
	armed = true
	b.run(d, 1, 1)
	closeDisk(t, d)
	b.whole = content(t, b.files, b.log)
	if len(b.whole) <= b.acked {
		t.Fatalf("the log has %d bytes, %d of them acknowledged", len(b.whole), b.acked)
	}
	return b
}

// with gives a copy of the files in which the log has another content.
func (b *broken) with(t *testing.T, log []byte) *filestest.Memory {
	t.Helper()
	copied := copyAll(b.files)
	replace(t, copied, b.log, log)
	return copied
}

// copyAll copies what is there, synced or not.
func copyAll(fsys *filestest.Memory) *filestest.Memory {
	return fsys.PowerCut(100, nil)
}

func lastLog(t *testing.T, fsys files.FS) string { return slices.Max(logs(t, fsys)) }

// logs are the names of the segments.
func logs(t *testing.T, fsys files.FS) []string {
	t.Helper()
	names, err := fsys.List(folder)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".log") })
}

func content(t *testing.T, fsys files.FS, name string) []byte {
	t.Helper()
	all, err := files.ReadAll(fsys, filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func replace(t *testing.T, fsys files.FS, name string, content []byte) {
	t.Helper()
	file, err := fsys.Create(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Write(slices.Clone(content)); err != nil {
		t.Fatal(err)
	}
}

// all is what the folder holds.
func all(t *testing.T, fsys files.FS) map[string]string {
	t.Helper()
	names, err := fsys.List(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, name := range names {
		out[name] = string(content(t, fsys, name))
	}
	return out
}

// wantDamaged wants the folder refused, with the name of a file, and unchanged.
func wantDamaged(t *testing.T, what string, fsys files.FS, file string) {
	t.Helper()
	before := all(t, fsys)
	d, err := OpenDisk(folder, Options{FS: fsys})
	if err == nil {
		t.Errorf("%s: it opened with %v", what, list(d, "last"))
		closeDisk(t, d)
		return
	}
	if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), file) {
		t.Errorf("%s: %v, want ErrDamaged and the name of %s", what, err, file)
	}
	if diff := cmp.Diff(before, all(t, fsys)); diff != "" {
		t.Errorf("%s: what was refused was changed:\n%s", what, diff)
	}
}

// Ensure that a log is accepted up to any length that holds all that was
// acknowledged, with the rest reported as torn, and refused when it is shorter.
func TestLogCutAtEveryLength(t *testing.T) {
	b := breakOff(t, 5, "")
	for length := range len(b.whole) + 1 {
		fsys := b.with(t, b.whole[:length])
		what := fmt.Sprintf("%d of %d bytes, %d acknowledged", length, len(b.whole), b.acked)
		if length < b.acked {
			wantDamaged(t, what, fsys, b.log)
			continue
		}
		acked, torn := int64(5), int64(len(bytes.TrimRight(b.whole[b.acked:length], "\x00")))
		if length == len(b.whole) {
			acked, torn = 6, 0
		}
		want := Recovery{Torn: torn}
		if got := b.check(t, what, fsys, folder, acked); got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
}

// Ensure that no wrong byte in what was acknowledged goes unnoticed.
func TestWrongByteInLog(t *testing.T) {
	b := breakOff(t, 5, "")
	for at := range b.whole {
		wrong := slices.Clone(b.whole)
		wrong[at] ^= 1 << (at % 8)
		what := fmt.Sprintf("byte %d of %d", at, b.acked)
		if at < b.acked {
			wantDamaged(t, what, b.with(t, wrong), b.log)
		} else {
			b.check(t, what, b.with(t, wrong), folder, 5)
		}
	}
}

// Ensure the same in a long log, with bytes gone at its beginning, in the middle
// and at the end of commits.
func TestDamageInLongLog(t *testing.T) {
	b := breakOff(t, 60, strings.Repeat("x", 2500))
	const block = 4 << 10
	if b.acked < 4*block {
		t.Fatalf("the log has only %d bytes", b.acked)
	}
	for at := 7; at < b.acked; at += 9001 {
		for _, at := range []int{at, at/block*block + at%40} {
			wantDamaged(t, fmt.Sprintf("cut at %d", at), b.with(t, b.whole[:at]), b.log)
			wrong := slices.Clone(b.whole)
			wrong[at] ^= 0x10
			wantDamaged(t, fmt.Sprintf("byte %d", at), b.with(t, wrong), b.log)
			zeros := slices.Clone(b.whole)
			clear(zeros[at:])
			wantDamaged(t, fmt.Sprintf("zeros from %d", at), b.with(t, zeros), b.log)
		}
	}
	wantDamaged(t, "a block is left out", b.with(t, slices.Delete(slices.Clone(b.whole), block, 2*block)), b.log)
	b.check(t, "nothing wrong", b.with(t, b.whole), folder, 61)
}

// Ensure that damage is noticed by the log alone, too, except near its end: after
// a power cut the label may know of nothing.
func TestDamageUnknownToLabel(t *testing.T) {
	fsys := filestest.NewMemory()
	h := &history{filler: strings.Repeat("x", 2500)}
	d := openDisk(t, fsys, folder)
	h.run(d, 1, 90)
	// Without what was not synced: the label is as it was after opening.
	cut := fsys.PowerCut(0, nil)
	closeDisk(t, d)
	h.check(t, "nothing wrong", cut.PowerCut(0, nil), folder, 90)
	log := lastLog(t, cut)
	whole := content(t, cut, log)
	for at := 7; at < len(whole)/2; at += 30_000 {
		damaged := copyAll(cut)
		wrong := slices.Clone(whole)
		clear(wrong[at : at+100])
		replace(t, damaged, log, wrong)
		wantDamaged(t, fmt.Sprintf("bytes %d to %d", at, at+100), damaged, log)
	}
}

// Ensure that damage anywhere in the folder is refused, or does no harm. The
// folder has segments of which some were removed, as after some sessions.
func TestDamageInAnyFile(t *testing.T) {
	fsys := filestest.NewMemory()
	h := &history{filler: strings.Repeat("x", 300)}
	for range 4 {
		d := openSmall(t, fsys, folder)
		h.run(d, 2, 8)
		closeDisk(t, d)
	}
	try := func(what string, fsys *filestest.Memory) {
		t.Helper()
		before := all(t, fsys)
		d, err := OpenDisk(folder, Options{FS: fsys})
		if err == nil {
			h.compare(t, what, d, 64)
			closeDisk(t, d)
			return
		}
		if diff := cmp.Diff(before, all(t, fsys)); diff != "" {
			t.Errorf("%s: what was refused (%v) was changed:\n%s", what, err, diff)
		}
	}
	kinds := map[string]int{}
	for name, text := range all(t, fsys) {
		kinds[strings.TrimPrefix(filepath.Ext("."+name), ".")]++
		gone := copyAll(fsys)
		if err := gone.Remove(filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
		try(name+" is gone", gone)
		for at := 0; at < len(text); at += 1 + len(text)/25 {
			wrong := []byte(text)
			wrong[at] ^= 1 << (at % 8)
			damaged := copyAll(fsys)
			replace(t, damaged, name, wrong)
			try(fmt.Sprintf("byte %d of %d of %s", at, len(text), name), damaged)
			cut := copyAll(fsys)
			replace(t, cut, name, []byte(text)[:at])
			try(fmt.Sprintf("%s is cut from %d to %d bytes", name, len(text), at), cut)
		}
	}
	for _, k := range []string{"label", "log"} {
		if kinds[k] == 0 {
			t.Errorf("there is no %s: %v", k, kinds)
		}
	}
}
