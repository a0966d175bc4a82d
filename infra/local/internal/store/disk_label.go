package store

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// The label is the file that tells a data folder from others. It begins with a
// line of text that ends with the version of the format. Behind it are two
// slots, written in turn, so that one is whole at any time: which commit was
// acknowledged last, and whether the Disk was closed.
//
// The log alone does not tell whether commits are missing at its end: one that
// was cut looks like one that was never written. The label is written
// behind every commit that has reached the disk, before it is acknowledged. It
// is not synced then, which would make every commit wait twice: after a kill -9
// it is exact nevertheless, since the operating system holds what was written;
// after a power cut it may be behind, and then claims less, never too much.
const (
	labelName     = "label"
	labelText     = "Fabrikam drone delivery, state of the local runtime, format "
	formatVersion = 2

	slotSize   = 512 // of a sector, which disks write whole
	slotLength = 21  // used bytes of a slot: turn, commit, clean, checksum
)

// progress is what a slot says.
type progress struct {
	turn   uint64 // counts the writes
	commit uint64 // the number of the last commit that was acknowledged
	clean  bool   // the Disk was closed after it
}

func (p progress) encode() []byte {
	b := binary.BigEndian.AppendUint64(nil, p.turn)
	b = binary.BigEndian.AppendUint64(b, p.commit)
	if p.clean {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// parseSlot reads a slot; ok is false for one that is torn or damaged.
func parseSlot(b []byte) (p progress, ok bool) {
	if len(b) < slotLength {
		return p, false
	}
	body, sum := b[:slotLength-4], binary.BigEndian.Uint32(b[slotLength-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return p, false
	}
	return progress{
		turn: binary.BigEndian.Uint64(body), commit: binary.BigEndian.Uint64(body[8:]), clean: body[16] == 1,
	}, true
}

// A label is the open label of a folder.
type label struct {
	file files.File
	last progress
}

// createLabel makes a new folder's label, whole or not at all.
func createLabel(fsys files.FS, dir string) error {
	content := make([]byte, slotSize, 3*slotSize)
	copy(content, fmt.Sprintf("%s%d\n", labelText, formatVersion))
	for turn := range uint64(2) {
		slot := make([]byte, slotSize)
		copy(slot, progress{turn: turn, clean: true}.encode())
		content = append(content, slot...)
	}
	if err := writeFile(fsys, dir, labelName, content); err != nil {
		return fmt.Errorf("create %s: %w", labelName, err)
	}
	return nil
}

// openLabel opens the label of a folder. The error wraps fs.ErrNotExist when
// there is none, ErrForeign, ErrOlder or ErrNewer when it is not of this format, and
// ErrDamaged when no slot is whole.
func openLabel(fsys files.FS, dir string) (*label, error) {
	path := filepath.Join(dir, labelName)
	if _, err := fsys.Stat(path); err != nil {
		return nil, err // OpenReadWrite would create it
	}
	file, err := fsys.OpenReadWrite(path)
	if err != nil {
		return nil, err
	}
	l := &label{file: file}
	if l.last, err = readLabel(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

func readLabel(file files.File) (progress, error) {
	content := make([]byte, 3*slotSize)
	if n, err := file.ReadAt(content, 0); err == io.EOF {
		content = content[:n]
	} else if err != nil {
		return progress{}, fmt.Errorf("read %s: %w", labelName, err)
	}
	line, _, _ := strings.Cut(string(content[:min(slotSize, len(content))]), "\n")
	text, ours := strings.CutPrefix(line, labelText)
	version, err := strconv.Atoi(text)
	switch {
	case !ours || err != nil || version < 1:
		return progress{}, fmt.Errorf("%w: its file %s is no label of one", ErrForeign, labelName)
	case version < formatVersion:
		return progress{}, fmt.Errorf("%w: it has format %d, this version knows %d", ErrOlder, version, formatVersion)
	case version > formatVersion:
		return progress{}, fmt.Errorf("%w: it has format %d, this version knows %d", ErrNewer, version, formatVersion)
	}
	var last progress
	whole := false
	for at := slotSize; at < len(content); at += slotSize {
		if p, ok := parseSlot(content[at:min(at+slotSize, len(content))]); ok && (!whole || p.turn > last.turn) {
			last, whole = p, true
		}
	}
	if !whole {
		return last, damaged(labelName, "neither slot is whole")
	}
	return last, nil
}

// write says that the commit and all before it are kept.
func (l *label) write(commit uint64, clean bool) error {
	next := progress{turn: l.last.turn + 1, commit: commit, clean: clean}
	at := slotSize * (1 + int64(next.turn%2))
	if _, err := l.file.WriteAt(next.encode(), at); err != nil {
		return fmt.Errorf("write %s: %w", labelName, err)
	}
	l.last = next
	return nil
}
