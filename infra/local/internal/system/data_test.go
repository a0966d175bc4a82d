package system

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
	"github.com/fabrikam/drone-delivery/infra/local/internal/stage"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
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
		Addresses: Addresses{AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}, Data: folder, Partitions: 7,
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Notice: func(line string) { told = append(told, line) },
	})
	return e, told, err
}

// Ensure that the emulators find again what they kept, and say so.
func TestEmulatorsKeepTheirState(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	for _, want := range []string{
		"^keeping state in " + folder + "$",
		"^recovered from " + folder + ` in \d+\.\d s: 0 documents in \d+ containers, 0 messages in \d queues, 0 events in 7 partitions$`,
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
	b.Put("eventhubs/requests/hub", []byte(`{"created":0,"partitions":8}`))
	if err := errors.Join(store.Apply(d, b), d.Close()); err != nil {
		t.Fatal(err)
	}
	_, _, err = emulatorsIn(t, folder)
	want := "start the message emulators: broker: event hub requests: it was created with 8 partitions and can't have 7 now; " +
		"its state is in " + folder + ": move that folder away to start empty, or pass -data DIR for another folder, or -ephemeral for none"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for kind, want := range map[error]string{
		store.ErrInUse:     "stop that process",
		store.ErrForeign:   "the folder is unchanged",
		store.ErrNewer:     "the folder is unchanged",
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

// disk is a file system in memory. When it is full, nothing can be written.
type disk struct {
	files *filestest.Memory
	full  atomic.Bool
}

func (d *disk) fs() files.FS {
	return filestest.Hooks{FS: d.files, Before: func(op filestest.Op, name string) error {
		if d.full.Load() && (op == filestest.Write || op == filestest.Create) {
			return &os.PathError{Op: "write", Path: name, Err: syscall.ENOSPC}
		}
		return nil
	}}
}

// start starts emulators that keep their state on the disk; it calls opened when
// they have opened it.
func (d *disk) start(t *testing.T, opened func(line string)) (*Emulators, error) {
	t.Helper()
	project, err := stage.FindProject(".")
	if err != nil {
		t.Fatal(err)
	}
	return StartServices(t.Context(), project, EmulatorsConfig{
		Addresses: Addresses{AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}, Data: "data", fsys: d.fs(),
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)), Notice: opened,
	})
}

// wantFull fails unless err tells of the full disk and what to do, and came soon.
func wantFull(t *testing.T, err error, begun time.Time) {
	t.Helper()
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	const cure = "free space and start again: acknowledged data is safe; or pass -data DIR for another folder, or -ephemeral for none"
	if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "nothing can be kept in data any more: ") || !strings.Contains(err.Error(), cure) {
		t.Errorf("%v, want the folder, the full disk and: %s", err, cure)
	}
}

// Ensure that a full disk ends at once what waits for the emulators, and them;
// and that what was acknowledged is there when there is space again.
func TestFullDisk(t *testing.T) {
	d := &disk{files: filestest.NewMemory()}
	e, err := d.start(t, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	client, err := azcosmos.NewClientFromConnectionString(e.CosmosDB(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	put := func(ctx context.Context, database string) error {
		return createContainers(ctx, client, database, cosmosdb.Containers(chosen.Business())[:1])
	}
	if err := during(t.Context(), e.Wait, func(ctx context.Context) error { return put(ctx, "acknowledged") }); err != nil {
		t.Fatal(err)
	}
	want := e.cosmos.Counts().Containers
	d.full.Store(true)
	begun := time.Now()
	wantFull(t, during(t.Context(), e.Wait, func(ctx context.Context) error { return put(ctx, "refused") }), begun)
	if s := (&System{Emulators: e}); !s.Broken() || s.Close() != nil {
		t.Error("a system whose store has failed isn't left as it is")
	}
	if err := e.Close(); err != nil || time.Since(begun) > 10*time.Second {
		t.Errorf("close: %v after %v", err, time.Since(begun))
	}

	d = &disk{files: d.files.PowerCut(0, nil)}
	var told []string
	if e, err = d.start(t, func(line string) { told = append(told, line) }); err != nil {
		t.Fatal(err)
	}
	if wantText := fmt.Sprintf(" in %d containers", want); len(told) == 0 || !strings.Contains(told[0], wantText) {
		t.Errorf("told %q, want %q in it", told, wantText)
	}
	if s := (&System{Emulators: e}); s.Broken() {
		t.Error("a system is broken whose disk has space")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Ensure that a start ends at once when it fills the disk.
func TestStartFillsTheDisk(t *testing.T) {
	d := &disk{files: filestest.NewMemory()}
	begun := time.Now()
	_, err := d.start(t, func(string) { d.full.Store(true) })
	wantFull(t, err, begun)

	begun = time.Now()
	_, err = d.start(t, func(string) {}) // where there is a folder already
	wantFull(t, err, begun)
	_, err = (&disk{files: filestest.NewMemory()}).startFull(t)
	if want := "free space and start again, or pass -data DIR"; !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), want) {
		t.Errorf("a folder on a full disk: %v, want %q in it", err, want)
	}
}

// startFull is start on a disk that is full from the beginning.
func (d *disk) startFull(t *testing.T) (*Emulators, error) {
	d.full.Store(true)
	return d.start(t, func(string) {})
}

// Ensure that what needs the system ends when a part of that stops, that this
// error wins then, is never lost, and that nothing else ends it.
func TestDuring(t *testing.T) {
	gone, own := errors.New("gone"), errors.New("own")
	stopped := make(chan error, 1)
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return nil
		case err := <-stopped:
			return err
		}
	}
	stopped <- gone
	err := during(t.Context(), wait, func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err != gone {
		t.Errorf("a part stops: %v", err)
	}
	for range 1000 {
		err := during(t.Context(), wait, func(context.Context) error {
			stopped <- gone
			return own
		})
		switch {
		case err == gone:
		case err == own && len(stopped) == 1: // who waits next gets it
			<-stopped
		default:
			t.Fatalf("a part stops at the end: %v, and nobody is told of it", err)
		}
	}
	if err := during(t.Context(), wait, func(ctx context.Context) error { return errors.Join(own, ctx.Err()) }); err.Error() != own.Error() {
		t.Errorf("nothing stops: %v", err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := during(ended, wait, func(ctx context.Context) error { return ctx.Err() }); err != context.Canceled {
		t.Errorf("the caller ends it: %v", err)
	}
}
