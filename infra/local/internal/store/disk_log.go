package store

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// limits are the sizes of a log, in bytes.
type limits struct {
	// segment is from when on a segment takes no further commit.
	segment int64
	// slack is how much the segments may have beyond twice what is live.
	slack int64
	// least is what a segment counts for at least: it is an open file.
	least int64
}

var defaultLimits = limits{segment: 16 << 20, slack: 32 << 20, least: 256 << 10}

// entryBytes is what an entry takes in a segment besides key and value, roughly.
const entryBytes = 8

// segment is a file of commits that follow on each other.
type segment struct {
	id    uint32 // by which places name it; the next segment's is one more
	name  string
	first uint64
	size  int64      // of its commits; what lies behind is a torn rest
	file  files.File // for reading
}

// segmentName is the name of the segment that begins with a commit.
func segmentName(first uint64) string { return fmt.Sprintf("%016d.log", first) }

func parseSegmentName(name string) (first uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, ".log")
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, ok && err == nil && name == segmentName(first)
}

// log keeps the entries: commits are written behind each other, and the index
// says which of their changes still count. So that it doesn't grow for ever, the
// commits carry what is live in the oldest segment along, a part each, until that
// can be removed. What ends an entry is not carried along: what it ends was
// before it.
//
// A log is for one goroutine, but for get, pin, read and unpin.
type log struct {
	fsys   files.FS
	dir    string
	limits limits

	segments []*segment // the oldest first, without gaps
	begun    uint32     // the id of the next segment
	out      files.File // the last segment, for writing; nil if that is of an earlier opening
	carried  int64      // up to where the oldest segment's entries were carried along
	encoder  encoder
	pending  []pending

	mu    sync.RWMutex // guards what is below, and segments when they are changed
	index *index
	pins  int // as long as there are any no segment is removed
}

// pending is a change that takes effect when its commit is durable.
type pending struct {
	key    string
	offset int // of the value in the commit
	length int
	remove bool
}

// write makes changes durable as the commit of that number.
func (l *log) write(number uint64, group []request) error {
	if l.out == nil || l.segments[len(l.segments)-1].size >= l.limits.segment {
		if err := l.begin(number); err != nil {
			return err
		}
	}
	old, err := l.carry(number, group)
	if err != nil {
		return err
	}
	commit, err := l.encoder.end()
	if err != nil {
		return err
	}
	if _, err := l.out.Write(commit); err != nil {
		return err
	}
	if err := l.out.Sync(); err != nil {
		return err
	}
	// A file that somebody has removed takes everything, and keeps nothing.
	if _, err := l.fsys.Stat(filepath.Join(l.dir, l.segments[len(l.segments)-1].name)); err != nil {
		return err
	}
	l.apply(int64(len(commit)))
	if old {
		return l.removeOldest()
	}
	return nil
}

// begin begins a segment. One that has its name holds no commit.
func (l *log) begin(first uint64) error {
	if l.out != nil {
		if err := l.out.Close(); err != nil {
			return err
		}
		l.out = nil
	}
	s := &segment{id: l.begun, name: segmentName(first), first: first}
	path := filepath.Join(l.dir, s.name)
	out, err := l.fsys.Create(path)
	if err != nil {
		return err
	}
	l.out = out
	if err := l.fsys.SyncDir(l.dir); err != nil {
		return err
	}
	if s.file, err = l.fsys.Open(path); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(s)
	return nil
}

// add makes s the last segment.
func (l *log) add(s *segment) {
	l.segments = append(l.segments, s)
	l.begun++
}

// carry encodes a commit: what it carries along of the oldest segment, then the
// group's changes. It reports whether the oldest is of no more use when the
// commit is durable.
func (l *log) carry(number uint64, group []request) (old bool, err error) {
	var bytes int64
	for _, r := range group {
		bytes += int64(r.batch.size())
	}
	moved, old, err := l.oldest(bytes)
	if err != nil {
		return false, err
	}
	base := l.segments[0].first
	if old {
		base = l.segments[1].first
	}
	l.encoder.begin(number, base)
	l.pending = l.pending[:0]
	for _, c := range moved {
		l.encode(c)
	}
	for _, r := range group {
		if r.err != nil {
			continue
		}
		for _, c := range r.batch.changes {
			l.encode(c)
		}
	}
	return old, nil
}

func (l *log) encode(c change) {
	if c.remove {
		l.encoder.remove(c.key)
		l.pending = append(l.pending, pending{key: c.key, remove: true})
		return
	}
	offset := l.encoder.put(c.key, c.value)
	l.pending = append(l.pending, pending{key: c.key, offset: offset, length: len(c.value)})
}

// apply lets the pending changes of a commit take effect, which is at the end of
// the last segment.
func (l *log) apply(length int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.segments[len(l.segments)-1]
	for _, p := range l.pending {
		if p.remove {
			l.index.remove(p.key)
		} else {
			l.index.put(p.key, s.place(p.offset, p.length))
		}
	}
	s.size += length
}

// The oldest segment is read faster than new commits are written, so that the
// log shrinks: at most half of what is read has to be carried along, on average.
const (
	carryFactor = 4
	carryLeast  = 64 << 10
)

// oldest returns what the next commit, of so many bytes, carries along, and
// whether that is the last of the oldest segment.
func (l *log) oldest(bytes int64) (moved []change, whole bool, err error) {
	if len(l.segments) < 2 || l.size() <= 2*l.index.live+l.limits.slack {
		return nil, false, nil
	}
	s := l.segments[0]
	end := min(s.size, l.carried+max(carryFactor*bytes, carryLeast))
	for l.carried < end {
		r, err := s.read(l.carried)
		if err != nil {
			return nil, false, err
		}
		err = r.each(func(c change, offset int) {
			if p, ok := l.index.get(c.key); ok && !c.remove && p == (place{s.id, uint32(l.carried) + uint32(offset), uint32(len(c.value))}) {
				moved = append(moved, c)
			}
		})
		if err != nil {
			return nil, false, damaged(s.name, "at byte %d: %w", l.carried, err)
		}
		l.carried += int64(r.length)
	}
	return moved, l.carried >= s.size, nil
}

// size is what the segments take.
func (l *log) size() (bytes int64) {
	for _, s := range l.segments {
		bytes += max(s.size, l.limits.least)
	}
	return bytes
}

// read reads the commit at an offset.
func (s *segment) read(at int64) (record, error) {
	head := make([]byte, headBytes)
	if _, err := s.file.ReadAt(head, at); err != nil {
		return record{}, fmt.Errorf("read %s: %w", s.name, err)
	}
	whole := make([]byte, min(recordBytes(head), s.size-at))
	if _, err := s.file.ReadAt(whole, at); err != nil && err != io.EOF {
		return record{}, fmt.Errorf("read %s: %w", s.name, err)
	}
	r, ok := parseRecord(whole)
	if !ok {
		return r, damaged(s.name, "at byte %d is no commit any more", at)
	}
	return r, nil
}

// place is where a value of the commit is that begins at the segment's end.
func (s *segment) place(offset, length int) place {
	return place{s.id, uint32(s.size) + uint32(offset), uint32(length)}
}

// removeOldest removes the oldest segment, unless somebody reads: then a later
// commit finds it to be of no more use again. The removal is made durable, so that
// what a power cut brings back has no gap.
func (l *log) removeOldest() error {
	l.mu.Lock()
	if l.pins > 0 {
		l.mu.Unlock()
		return nil
	}
	s := l.segments[0]
	l.segments, l.carried = l.segments[1:], 0
	l.mu.Unlock()
	return errors.Join(s.file.Close(), l.fsys.Remove(filepath.Join(l.dir, s.name)), l.fsys.SyncDir(l.dir))
}

// get reads the value of a key. Safe for concurrent use with everything but close.
func (l *log) get(key string) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	p, ok := l.index.get(key)
	if !ok {
		return nil, ErrAbsent
	}
	return l.at(p)
}

// pin returns the entries whose keys have a prefix, in the order of the keys, and
// keeps their values readable until unpin. Safe for concurrent use.
func (l *log) pin(prefix string) []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pins++
	return l.index.entries(prefix)
}

func (l *log) unpin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pins--
}

// read reads the value of a pinned entry. Safe for concurrent use with everything
// but close.
func (l *log) read(p place) ([]byte, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.at(p)
}

// at reads the value at a place; mu is held.
func (l *log) at(p place) ([]byte, error) {
	s := l.segments[p.segment-l.segments[0].id]
	value := make([]byte, p.length)
	if n, err := s.file.ReadAt(value, int64(p.offset)); n < len(value) {
		return nil, fmt.Errorf("read %s: %w", s.name, err)
	}
	return value, nil
}

// close releases what the log holds.
func (l *log) close() error {
	var errs []error
	if l.out != nil {
		errs = append(errs, l.out.Close())
	}
	for _, s := range l.segments {
		errs = append(errs, s.file.Close())
	}
	return errors.Join(errs...)
}
