package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Keys in Pebble: the number of the last commit, and the entries, each under its
// key behind entryPrefix.
const (
	commitKey   = "commit"
	entryPrefix = "entry/"
)

// The sizes fit for a developer's machine: the emulators read nothing after the
// start, so that the cache only serves Pebble's own merging.
const (
	cacheBytes    = 1 << 20
	memTableBytes = 4 << 20 // at most two of them
)

// pebbleOptions are those of every opening. The format is fixed, so that a new
// version of Pebble does not change folders unasked: it has checksums in the
// footers of tables, too, and a log whose chunks say up to where it was synced,
// by which replaying tells a torn end from damage.
func pebbleOptions(files vfs.FS, lock *pebble.Lock, log pebble.Logger, readOnly bool) *pebble.Options {
	return &pebble.Options{
		FS: files, Lock: lock, Logger: log, ReadOnly: readOnly,
		FormatMajorVersion: pebble.FormatTableFormatV6,
		CacheSize:          cacheBytes,
		MemTableSize:       memTableBytes,
		EventListener: &pebble.EventListener{
			// Reading gives the error, too.
			DataCorruption: func(pebble.DataCorruptionInfo) {},
		},
	}
}

// pebbleLog takes what Pebble logs. Only what ends the store is for people.
type pebbleLog struct {
	log   *slog.Logger
	fatal func(error)
}

// Infof implements [pebble.Logger].
func (l pebbleLog) Infof(format string, args ...any) { l.debug(format, args) }

// Errorf implements [pebble.Logger].
func (l pebbleLog) Errorf(format string, args ...any) { l.debug(format, args) }

func (l pebbleLog) debug(format string, args []any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug("pebble", "text", fmt.Sprintf(format, args...))
	}
}

// Fatalf implements [pebble.Logger]. Pebble relies on it not to return: the
// goroutine stays, as after an error of the file system (see folderFS).
func (l pebbleLog) Fatalf(format string, args ...any) {
	l.fatal(fmt.Errorf("pebble: "+format, args...))
	select {}
}

// readCommit gives the number of the last commit, 0 before the first.
func readCommit(db pebble.Reader) (uint64, error) {
	value, closer, err := db.Get([]byte(commitKey))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer closer.Close() // never fails
	return parseCommit(value)
}

func parseCommit(value []byte) (uint64, error) {
	if len(value) != 8 {
		return 0, fmt.Errorf("the number of a commit has %d bytes", len(value))
	}
	return binary.BigEndian.Uint64(value), nil
}

// readEntries calls f with every entry under prefix. The value is valid until f
// returns.
func readEntries(db pebble.Reader, prefix string, f func(key string, value []byte)) error {
	lower := []byte(entryPrefix + prefix)
	it, err := db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: successor(lower)})
	if err != nil {
		return err
	}
	for ok := it.First(); ok; ok = it.Next() {
		value, err := it.ValueAndErr()
		if err != nil {
			return errors.Join(err, it.Close())
		}
		f(string(it.Key()[len(entryPrefix):]), value)
	}
	// Close gives the error that ended the loop.
	return it.Close()
}

// successor gives the least key that is above all with the prefix. The prefix
// begins with a letter, so that there is one.
func successor(prefix []byte) []byte {
	next := slices.Clone(prefix)
	for next[len(next)-1] == 0xff {
		next = next[:len(next)-1]
	}
	next[len(next)-1]++
	return next
}
