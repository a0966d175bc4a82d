package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// load reads a whole folder, without changing it, and makes sure that nothing is
// missing of what was acknowledged: the segments hold all commits from the first
// that is needed up to the last without a gap, and the last is not below
// acknowledged. It returns the log, the number of the last commit, and how many
// bytes lie behind that: the torn rest of a commit that was on its way.
func load(fsys files.FS, dir string, sizes limits, acknowledged uint64) (l *log, last uint64, torn int64, err error) {
	l = &log{fsys: fsys, dir: dir, limits: sizes, index: newIndex()}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.close())
		}
	}()
	names, err := fsys.List(dir)
	if err != nil {
		return l, 0, 0, err
	}
	slices.Sort(names)
	var base uint64
	end := labelName // the file that shows what is missing at the end
	for _, name := range names {
		first, ok := parseSegmentName(name)
		if !ok {
			continue
		}
		if last > 0 && first != last+1 {
			return l, 0, 0, damaged(end, "commits %d to %d, which were acknowledged, are missing", last+1, first-1)
		}
		end = name
		read, err := l.loadSegment(name, first)
		if err != nil {
			return l, 0, 0, err
		}
		torn = read.torn
		if read.last > 0 {
			last, base = read.last, read.base
		}
	}
	switch {
	case last < acknowledged:
		return l, 0, 0, damaged(end, "commits %d to %d, which were acknowledged, are missing", last+1, acknowledged)
	case last > 0 && l.segments[0].first > base:
		return l, 0, 0, damaged(l.segments[0].name, "commits %d to %d, which are before it, are missing", base, l.segments[0].first-1)
	}
	return l, last, torn, nil
}

// loaded is what a segment has.
type loaded struct {
	last, base uint64 // of its last commit; 0 if it has none
	torn       int64  // bytes behind it
}

// loadSegment adds a segment and the entries in it, unless it has no commit: a
// stop came before the first was written. A rest that is torn is no damage: where
// another segment follows, that one's name tells whether a commit is missing.
func (l *log) loadSegment(name string, first uint64) (read loaded, err error) {
	content, err := files.ReadAll(l.fsys, filepath.Join(l.dir, name))
	if err != nil {
		return read, err
	}
	s := &segment{id: l.begun, name: name, first: first}
	for next := first; ; next++ {
		r, ok := parseRecord(content[s.size:])
		if !ok {
			break
		}
		if r.number != next {
			return read, damaged(name, "at byte %d: commit %d in the place of commit %d", s.size, r.number, next)
		}
		if err := l.loadRecord(s, r); err != nil {
			return read, damaged(name, "at byte %d: %w", s.size, err)
		}
		s.size += int64(r.length)
		read.last, read.base = r.number, r.base
	}
	rest := content[s.size:]
	if later, ok := findRecord(rest); ok && later.number >= max(first, read.last+1) {
		return read, damaged(name, "what lies at byte %d can't be read, and commit %d behind it can", s.size, later.number)
	}
	// Zeros at the end are space that was claimed and never written.
	read.torn = int64(len(bytes.TrimRight(rest, "\x00")))
	if s.size == 0 {
		return read, nil
	}
	if s.file, err = l.fsys.Open(filepath.Join(l.dir, name)); err != nil {
		return read, err
	}
	l.add(s)
	return read, nil
}

func (l *log) loadRecord(s *segment, r record) error {
	return r.each(func(c change, offset int) {
		if c.remove {
			l.index.remove(c.key)
		} else {
			l.index.put(c.key, s.place(offset, len(c.value)))
		}
	})
}
