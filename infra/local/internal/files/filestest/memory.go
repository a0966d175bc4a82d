// Package filestest has file systems that fail: one in memory, which after a
// power cut has only synced data, and one that refuses what a test chooses.
package filestest

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
)

// blockBytes is what a power cut keeps of a file, or not, as a whole: a sector.
const blockBytes = 512

// Memory is a file system in memory. It knows what a power cut would leave. It is
// safe for concurrent use.
type Memory struct {
	mu      sync.Mutex
	now     map[string]*node // by path
	durable map[string]*node // the same, as a power cut leaves it
	locked  map[string]bool
}

var _ files.FS = (*Memory)(nil)

// node is a file or a folder.
type node struct {
	dir          bool
	now, durable []byte
}

// NewMemory makes an empty file system.
func NewMemory() *Memory {
	return &Memory{now: map[string]*node{}, durable: map[string]*node{}, locked: map[string]bool{}}
}

// PowerCut returns the file system as it is after a power cut at this moment,
// nothing locked: what was synced is there, and of the rest each block, and each
// change of a name, with a chance of percent, by random. It may be nil where
// percent is 0 or 100.
func (m *Memory) PowerCut(percent int, random *rand.Rand) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := func() bool { return percent == 100 || percent > 0 && random.IntN(100) < percent }
	left, copies := NewMemory(), map[*node]*node{}
	names := slices.Concat(slices.Collect(maps.Keys(m.now)), slices.Collect(maps.Keys(m.durable)))
	slices.Sort(names) // a folder comes before what is in it
	for _, name := range slices.Compact(names) {
		n := m.durable[name]
		if now := m.now[name]; now != n && kept() {
			n = now
		}
		if n == nil || left.missing(filepath.Dir(name)) != nil {
			continue
		}
		if copies[n] == nil {
			content := n.left(kept)
			copies[n] = &node{dir: n.dir, now: content, durable: slices.Clone(content)}
		}
		left.now[name] = copies[n]
	}
	left.durable = maps.Clone(left.now)
	return left
}

// left is the content after a power cut.
func (n *node) left(kept func() bool) []byte {
	content := slices.Clone(n.durable)
	for at := 0; at < len(n.now); at += blockBytes {
		end := min(at+blockBytes, len(n.now))
		if end <= len(n.durable) && bytes.Equal(n.now[at:end], n.durable[at:end]) || !kept() {
			continue
		}
		content = grown(content, end)
		copy(content[at:], n.now[at:end])
	}
	return content
}

func grown(b []byte, length int) []byte {
	return append(b, make([]byte, max(0, length-len(b)))...)
}

// missing is the error if a folder isn't there. The one that begins all is.
func (m *Memory) missing(dir string) error {
	if n := m.now[dir]; dir == filepath.Dir(dir) || n != nil && n.dir {
		return nil
	}
	return &fs.PathError{Op: "open", Path: dir, Err: fs.ErrNotExist}
}

func (m *Memory) file(name string) (*node, error) {
	n := m.now[filepath.Clean(name)]
	if n == nil || n.dir {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

// Create implements [files.FS].
func (m *Memory) Create(name string) (files.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if err := m.missing(filepath.Dir(name)); err != nil {
		return nil, err
	}
	n := new(node)
	m.now[name] = n
	return &file{m: m, n: n}, nil
}

// Open implements [files.FS].
func (m *Memory) Open(name string) (files.File, error) { return m.OpenReadWrite(name) }

// OpenReadWrite implements [files.FS].
func (m *Memory) OpenReadWrite(name string) (files.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.file(name)
	if err != nil {
		return nil, err
	}
	return &file{m: m, n: n}, nil
}

// Remove implements [files.FS].
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.file(name)
	delete(m.now, filepath.Clean(name))
	return err
}

// Rename implements [files.FS].
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.file(from)
	if err == nil {
		delete(m.now, filepath.Clean(from))
		m.now[filepath.Clean(to)] = n
	}
	return err
}

// MkdirAll implements [files.FS].
func (m *Memory) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = filepath.Clean(dir); m.missing(dir) != nil; dir = filepath.Dir(dir) {
		m.now[dir] = &node{dir: true}
	}
	return nil
}

// List implements [files.FS].
func (m *Memory) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var names []string
	for name := range m.now {
		if name != "." && filepath.Dir(name) == filepath.Clean(dir) {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, m.missing(filepath.Clean(dir))
}

// Stat implements [files.FS].
func (m *Memory) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.missing(name) == nil {
		return info{name: name, dir: true}, nil
	}
	n, err := m.file(name)
	if err != nil {
		return nil, err
	}
	return info{name: name, size: int64(len(n.now))}, nil
}

// SyncDir implements [files.FS].
func (m *Memory) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	in := func(name string, _ *node) bool { return filepath.Dir(name) == dir }
	maps.DeleteFunc(m.durable, in)
	for name, n := range m.now {
		if in(name, n) {
			m.durable[name] = n
		}
	}
	return m.missing(dir)
}

// Lock implements [files.FS].
func (m *Memory) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if err := m.missing(filepath.Dir(name)); err != nil {
		return nil, err
	}
	if m.locked[name] {
		return nil, &fs.PathError{Op: "lock", Path: name, Err: errors.New("locked")}
	}
	if m.now[name] == nil {
		m.now[name] = new(node)
	}
	m.locked[name] = true
	return lock{m, name}, nil
}

type lock struct {
	m    *Memory
	name string
}

// Close implements [io.Closer].
func (l lock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locked, l.name)
	return nil
}

// file is an open file.
type file struct {
	m  *Memory
	n  *node
	at int // where Write goes on
}

// Write implements [files.File].
func (f *file) Write(b []byte) (int, error) {
	n, err := f.WriteAt(b, int64(f.at))
	f.at += n
	return n, err
}

// WriteAt implements [files.File].
func (f *file) WriteAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.now = grown(f.n.now, int(at)+len(b))
	return copy(f.n.now[at:], b), nil
}

// ReadAt implements [files.File].
func (f *file) ReadAt(b []byte, at int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if at >= int64(len(f.n.now)) {
		return 0, io.EOF
	}
	n := copy(b, f.n.now[at:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// Sync implements [files.File].
func (f *file) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.n.durable = slices.Clone(f.n.now)
	return nil
}

// Close implements [files.File].
func (f *file) Close() error { return nil }

// info is what Stat tells of a file.
type info struct {
	name string
	size int64
	dir  bool
}

func (i info) Name() string       { return filepath.Base(i.name) }
func (i info) Size() int64        { return i.size }
func (i info) IsDir() bool        { return i.dir }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}
