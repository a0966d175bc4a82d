package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// check reads a whole folder, without changing it, and makes sure that nothing
// is missing of what was acknowledged: the tables hold all commits up to some
// number, the logs hold the following ones without a gap, and the last is not
// below acknowledged. It returns the number of the last commit, and how many
// bytes lie behind it in the last log: the torn rest of a commit that was on its
// way.
//
// Pebble itself would go on without a word where the list of its tables
// (MANIFEST) or its log is cut, or damaged near its end.
//
// tables opens the database without its logs, for reading.
func check(files vfs.FS, dir string, acknowledged uint64, tables func() (*pebble.DB, error)) (last uint64, torn int64, err error) {
	desc, err := pebble.Peek(dir, files)
	if err != nil {
		return 0, 0, err
	}
	if !desc.Exists {
		if acknowledged > 0 {
			return 0, 0, damaged("MANIFEST", "it is missing")
		}
		return 0, 0, nil // the creation was not finished
	}
	manifest := files.PathBase(desc.ManifestFilename)
	last, err = checkTables(tables)
	if err != nil {
		return 0, 0, fmt.Errorf("%w: file %s or a table that it names: %w", ErrDamaged, manifest, err)
	}
	logs, err := wal.Scan(wal.Dir{FS: files, Dirname: dir})
	if err != nil {
		return 0, 0, err
	}
	end := logEnd{file: manifest}
	for i, l := range logs {
		before := end
		if end, err = readLog(l); err != nil {
			return 0, 0, err
		}
		if end.first > last+1 {
			return 0, 0, damaged(before.file, "commits %d to %d, which were acknowledged, are missing", last+1, end.first-1)
		}
		if end.damage != nil && i == len(logs)-1 {
			return 0, 0, damaged(end.file, "%w", end.damage)
		}
		last = max(last, end.last)
	}
	if last < acknowledged {
		return 0, 0, damaged(end.file, "commits %d to %d, which were acknowledged, are missing", last+1, acknowledged)
	}
	return last, end.torn, nil
}

// checkTables reads all that the tables hold, which verifies their checksums,
// and gives the number of the last commit in them.
func checkTables(open func() (*pebble.DB, error)) (uint64, error) {
	db, err := open()
	if err != nil {
		return 0, err
	}
	last, err := readCommit(db)
	if err == nil {
		err = readEntries(db, "", func(string, []byte) {})
	}
	return last, errors.Join(err, db.Close())
}

// logEnd is what reading a log to its end has shown.
type logEnd struct {
	file        string
	first, last uint64 // commits that it holds; 0 for none
	torn        int64  // bytes behind the last one that are none
	damage      error  // that what lies behind the last one had been synced
}

// readLog reads the commits of a log, which must be consecutive.
func readLog(l wal.LogicalLog) (end logEnd, err error) {
	files, path := l.SegmentLocation(0)
	end.file = files.PathBase(path)
	r := l.OpenForRead()
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		entry, offset, err := r.NextRecord()
		switch {
		case errors.Is(err, io.EOF):
			return end, nil
		case errors.Is(err, record.ErrUnexpectedEOF):
			return end, end.readRest(files, path, uint64(l.Num), offset.Physical)
		case errors.Is(err, record.ErrInvalidChunk), errors.Is(err, record.ErrZeroedChunk):
			end.damage = fmt.Errorf("at byte %d: %w", offset.Physical, err)
			return end, nil
		case err != nil:
			return end, fmt.Errorf("read %s: %w", end.file, err)
		}
		commit, err := readLogged(entry)
		switch {
		case err != nil:
			return end, damaged(end.file, "at byte %d: %w", offset.Physical, err)
		case end.first == 0:
			end.first = commit
		case commit != end.last+1:
			return end, damaged(end.file, "at byte %d: commit %d follows on %d", offset.Physical, commit, end.last)
		}
		end.last = commit
	}
}

// readLogged gives the number of a commit in a log, which is its first entry.
func readLogged(entry io.Reader) (uint64, error) {
	batch, err := io.ReadAll(entry)
	if err != nil {
		return 0, err
	}
	reader := batchrepr.Read(batch)
	_, key, value, ok, err := reader.Next()
	if err != nil {
		return 0, err
	}
	if !ok || string(key) != commitKey {
		return 0, errors.New("a commit without a number")
	}
	return parseCommit(value)
}

// logBlock is the unit of a log: a chunk of a commit never lies across its end.
const logBlock = 32 << 10

// readRest looks at what lies behind the last commit that could be read. It is
// the torn end of a log, unless a later commit can be read in it: one is begun
// only when all before it are durable, so that those in between are damaged.
// Pebble looks for the same, but as of version 2.1.7 counts as durable only what
// it wrote block by block, and too little of that.
func (end *logEnd) readRest(files vfs.FS, path string, log uint64, from int64) error {
	file, err := files.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() // only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	for at := (from/logBlock + 1) * logBlock; at < info.Size(); at += logBlock {
		r := newRecordReader(record.NewReader, io.NewSectionReader(file, at, info.Size()-at), log)
		entry, err := r.Next()
		if err != nil {
			continue // the next block may be sound
		}
		if commit, err := readLogged(entry); err == nil && commit > end.last+1 {
			end.damage = fmt.Errorf("what lies at byte %d can't be read, and commit %d behind it can", from, commit)
			return nil
		}
	}
	rest, err := io.ReadAll(io.NewSectionReader(file, from, max(0, info.Size()-from)))
	if err != nil {
		return err
	}
	// Zeros at the end are space that was claimed and never written.
	end.torn = int64(len(bytes.TrimRight(rest, "\x00")))
	return nil
}

// newRecordReader calls make with a number of a type that has no name outside of
// Pebble.
func newRecordReader[N ~uint64](make func(io.Reader, N) *record.Reader, r io.Reader, log uint64) *record.Reader {
	return make(r, N(log))
}
