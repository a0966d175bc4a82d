package system

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

// emulatorsIn starts emulators that keep their state in a folder, and gives what
// they tell.
func emulatorsIn(t *testing.T, folder string) (*Emulators, []string, error) {
	t.Helper()
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	e, err := StartServices(t.Context(), project, EmulatorsConfig{
		Addresses: Addresses{AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}, Data: folder,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Notice: func(line string) { told = append(told, line) },
	})
	return e, told, err
}

// Ensure that the emulators find again what they kept, and say so.
func TestEmulatorsKeepTheirState(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	for _, want := range []string{
		"^keeping state in " + folder + "$",
		"^recovered from " + folder + ` in \d+\.\d s: 0 documents in \d+ containers, 0 messages in \d queues, 0 events in 4 partitions$`,
	} {
		e, told, err := emulatorsIn(t, folder)
		if err != nil {
			t.Fatal(err)
		}
		if len(told) != 1 || !regexp.MustCompile(want).MatchString(told[0]) {
			t.Errorf("told %q, want %s", told, want)
		}
		if _, _, err := emulatorsIn(t, folder); !errors.Is(err, store.ErrInUse) || !strings.Contains(err.Error(), "pass -data DIR for another folder, or -ephemeral") {
			t.Errorf("a second time at the same time: %v", err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	e, told, err := emulatorsIn(t, "")
	if err != nil || told != nil {
		t.Fatalf("without a folder: told %q, %v", told, err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Ensure that what the store has can be told from what the emulators make of it.
func TestUnusableState(t *testing.T) {
	folder := t.TempDir()
	d, err := store.OpenDisk(folder, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var b store.Batch
	b.Put("eventhubs/delivery-requests/hub", []byte(`{"created":0,"partitions":8}`))
	if err := errors.Join(store.Apply(d, b), d.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, err = emulatorsIn(t, folder)
	want := "start the message emulators: broker: event hub delivery-requests: it was created with 8 partitions and can't have 4 now; " +
		"its state is in " + folder + ": move that away to begin with an empty one, or pass -data DIR for another folder, or -ephemeral for none"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for kind, want := range map[error]string{
		store.ErrInUse:     "stop that process",
		store.ErrForeign:   "nothing in it was changed",
		store.ErrNewer:     "nothing in it was changed",
		store.ErrDamaged:   "move it away",
		errors.New("else"): "pass -data DIR",
	} {
		if err := withWayOut(fmt.Errorf("data folder x: %w", kind)); !errors.Is(err, kind) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "-ephemeral") {
			t.Errorf("%v, want %s in it", err, want)
		}
	}
}

func TestReport(t *testing.T) {
	messages := broker.Stats{
		Queues: []broker.QueueStats{{Active: 1, Locked: 2, Deferred: 3, Scheduled: 4, DeadLettered: 5}, {Active: 1}},
		Hubs: []broker.HubStats{
			{Partitions: []broker.PartitionStats{{First: 0, Last: -1}, {First: 10, Last: 1009}}},
			{Partitions: []broker.PartitionStats{{First: 7, Last: 7}}},
		},
	}
	want := "1 234 567 documents in 1 container, 16 messages in 2 queues, 1 001 events in 3 partitions"
	if diff := cmp.Diff(want, contents(messages, cosmos.Counts{Containers: 1, Documents: 1_234_567})); diff != "" {
		t.Error(diff)
	}
	for n, want := range map[int]string{0: "0 bytes", 1: "1 byte", 999: "999 bytes", 1000: "1 000 bytes", 123456: "123 456 bytes"} {
		if got := count(n, "byte"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// Ensure that the process hears of it when nothing can be kept any more.
func TestFailedStoreIsPassedOn(t *testing.T) {
	gone := errors.New("the device is gone")
	broken := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if op.Kind == errorfs.OpFileSyncData {
			return gone
		}
		return nil
	}))
	disk, err := store.OpenDisk("data", store.Options{FS: broken})
	if err != nil {
		t.Fatal(err)
	}
	e := &Emulators{
		failed: make(chan error, 3), closing: make(chan struct{}),
		data: &data{Store: disk, disk: disk, folder: "data"},
	}
	e.serving.Go(e.watchData)
	var b store.Batch
	b.Put("a", nil)
	if err := store.Apply(e.data, b); !errors.Is(err, gone) {
		t.Errorf("apply: %v", err)
	}
	if err := <-e.Failed(); !errors.Is(err, gone) || !strings.Contains(err.Error(), "nothing can be kept in data any more") {
		t.Errorf("failed: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}
