package system

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// data is what the emulators keep their state in, all of them in one store, so
// that they share its syncs.
type data struct {
	store.Store
	disk   *store.Disk // nil when nothing is kept
	folder string
	opened time.Time
}

// openData opens the folder; "" keeps nothing. fsys is the file system; nil is
// that of the operating system.
func openData(folder string, fsys files.FS) (*data, error) {
	if folder == "" {
		return &data{Store: store.NewMemory()}, nil
	}
	opened := time.Now()
	disk, err := store.OpenDisk(folder, store.Options{FS: fsys})
	if err != nil {
		return nil, withWayOut(err)
	}
	if fsys == nil {
		// It may have been there, and open to others.
		if err := os.Chmod(folder, 0o700); err != nil {
			return nil, errors.Join(withWayOut(err), disk.Close())
		}
	}
	return &data{Store: disk, disk: disk, folder: folder, opened: opened}, nil
}

// otherwise is what people can do instead of using a folder that can't be used.
const otherwise = "pass -data DIR for another folder, or -ephemeral for none"

// withWayOut adds to an error what people can do about it.
func withWayOut(err error) error {
	switch {
	case errors.Is(err, store.ErrInUse):
		return fmt.Errorf("%w; stop that process, or %s", err, otherwise)
	case errors.Is(err, store.ErrForeign), errors.Is(err, store.ErrNewer), errors.Is(err, store.ErrOlder):
		return fmt.Errorf("%w; the folder is unchanged: %s", err, otherwise)
	case errors.Is(err, store.ErrDamaged):
		return fmt.Errorf("%w; the folder is unchanged: move it away to start empty, or %s", err, otherwise)
	case files.Full(err):
		return fmt.Errorf("%w; free space and start again, or %s", err, otherwise)
	default:
		return fmt.Errorf("%w; %s", err, otherwise)
	}
}

// unusable is the error of an emulator that can't go on with what is kept.
func (d *data) unusable(what string, err error) error {
	err = fmt.Errorf("start %s: %w", what, err)
	if d.disk == nil {
		return err
	}
	return fmt.Errorf("%w; its state is in %s: move that folder away to start empty, or %s", err, d.folder, otherwise)
}

// failed is closed when nothing can be kept any more; nil when nothing is to be.
func (d *data) failed() <-chan struct{} {
	if d.disk == nil {
		return nil
	}
	return d.disk.Failed()
}

// broken is the error of a store that can't keep anything any more, nil if it can.
func (d *data) broken() error {
	if !d.isBroken() {
		return nil
	}
	err := fmt.Errorf("nothing can be kept in %s any more: %w", d.folder, d.disk.Err())
	cure := "mend the cause"
	if files.Full(err) {
		cure = "free space"
	}
	return fmt.Errorf("%w; %s and start again: acknowledged data is safe; or %s", err, cure, otherwise)
}

// isBroken reports whether nothing can be kept any more.
func (d *data) isBroken() bool {
	select {
	case <-d.failed():
		return true
	default:
		return false
	}
}

// report tells what was recovered, in lines for people; none when nothing is
// kept.
func (d *data) report(b *broker.Broker, c *cosmos.Server) []string {
	if d.disk == nil {
		return nil
	}
	found := d.disk.Recovery()
	if found.Fresh {
		return []string{"keeping state in " + d.folder}
	}
	lines := []string{fmt.Sprintf("recovered from %s in %.1f s: %s", d.folder, time.Since(d.opened).Seconds(), contents(b.Stats(), c.Counts()))}
	switch {
	case found.Torn > 0:
		lines = append(lines, fmt.Sprintf("the last stop was not clean: %s that were never acknowledged were dropped", count(int(found.Torn), "byte")))
	case !found.Clean:
		lines = append(lines, "the last stop was not clean; everything that was acknowledged is there")
	}
	return lines
}

// contents says how much there is.
func contents(messages broker.Stats, documents cosmos.Counts) string {
	var inQueues, partitions int
	var events int64
	for _, q := range messages.Queues {
		inQueues += q.Active + q.Locked + q.Deferred + q.Scheduled + q.DeadLettered
	}
	for _, h := range messages.Hubs {
		partitions += len(h.Partitions)
		for _, p := range h.Partitions {
			events += p.Last + 1 - p.First
		}
	}
	return fmt.Sprintf("%s in %s, %s in %s, %s in %s",
		count(documents.Documents, "document"), count(documents.Containers, "container"),
		count(inQueues, "message"), count(len(messages.Queues), "queue"),
		count(int(events), "event"), count(partitions, "partition"))
}

// count writes a number of things, with a blank before each three digits.
func count(n int, thing string) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + " " + text[at:]
	}
	if n != 1 {
		thing += "s"
	}
	return strings.Join([]string{text, thing}, " ")
}
