package play

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files"
	"github.com/fabrikam/drone-delivery/infra/local/internal/files/filestest"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// till keeps each word that it is sent, and answers with all that it has.
var till = trial.Service{Name: "till", Setting: "TILL_URL", Open: func(ledger json.RawMessage, keep func(any) error) (http.Handler, error) {
	var words []string
	if err := json.Unmarshal(ledger, &words); err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		word, err := io.ReadAll(r.Body)
		if err == nil {
			err = keep(string(word))
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		words = append(words, string(word))
		w.Header().Set("X-Till", "1")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, strings.Join(words, " "))
	}), nil
}}

// play plays the till until end is called.
func play(t *testing.T, c Config) (url string, end func() error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, c) }()
	return "http://" + listener.Addr().String(), func() error {
		cancel()
		return <-ended
	}
}

func send(t *testing.T, url, word string) string {
	t.Helper()
	resp, err := http.Post(url, "text/plain", strings.NewReader(word))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusCreated || resp.Header.Get("X-Till") != "1" {
		t.Fatalf("answered %d, %v, %s, %v", resp.StatusCode, resp.Header, body, err)
	}
	return string(body)
}

// Ensure that a service goes on with what it has kept, and that who judges reads it
// from the disk.
func TestAServiceGoesOnWithItsLedger(t *testing.T) {
	c := Config{Service: till, Folder: filepath.Join(t.TempDir(), "services")}
	for i, want := range []string{"one", "one two"} {
		url, end := play(t, c)
		if got := send(t, url, []string{"one", "two"}[i]); got != want {
			t.Errorf("it has %q, want %q", got, want)
		}
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if _, err := http.Get(url); err == nil {
			t.Error("it serves after its end")
		}
	}
	ledgers, err := Ledgers(c.Folder, []trial.Service{till})
	if err != nil || string(ledgers["till"]) != `["one","two"]` {
		t.Errorf("ledgers %s, %v", ledgers, err)
	}
	if _, err := Ledgers(t.TempDir(), []trial.Service{till}); err == nil || !strings.Contains(err.Error(), "ledger of till") {
		t.Errorf("a ledger that is not there: %v", err)
	}
}

// Ensure that two processes don't write one ledger.
func TestALedgerIsOneProcess(t *testing.T) {
	c := Config{Service: till, Folder: t.TempDir()}
	url, end := play(t, c)
	send(t, url, "one")
	_, another := play(t, c)
	if err := another(); err == nil || !strings.Contains(err.Error(), "open the ledger of till") {
		t.Errorf("the second: %v", err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// Ensure that an answer which is late is late for what was done already, and that
// who does not wait for it has done it all the same.
func TestLateAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		faults := fault.New()
		if err := faults.Set(fault.Plan{Rates: map[fault.Point]float64{fault.ServiceLate: 1}}); err != nil {
			t.Fatal(err)
		}
		var asked atomic.Int64
		handler := Config{Faults: faults, Late: 3 * time.Second}.late(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			_, _ = io.WriteString(w, "paid")
		}))
		for patience, answered := range map[time.Duration]string{time.Second: "", 5 * time.Second: "paid"} {
			before := asked.Load()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			held := &answer{header: http.Header{}}
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			handler.ServeHTTP(held, req)
			cancel()
			if held.body.String() != answered || asked.Load() != before+1 {
				t.Errorf("after %v: %q, asked %d times", patience, held.body.String(), asked.Load()-before)
			}
		}
	})
}

// Ensure that a process which dies at an entry has kept it, and has said nothing.
func TestDeathComesBetweenTheEntryAndItsAnswer(t *testing.T) {
	faults := fault.New()
	if err := faults.Set(fault.Plan{Rates: map[fault.Point]float64{fault.ServiceKill: 1}}); err != nil {
		t.Fatal(err)
	}
	c := Config{Service: till, Folder: t.TempDir(), Faults: faults, Die: func() { panic(http.ErrAbortHandler) }}
	url, end := play(t, c)
	if resp, err := http.Post(url, "text/plain", strings.NewReader("one")); err == nil {
		resp.Body.Close()
		t.Errorf("answered %d", resp.StatusCode)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	ledgers, err := Ledgers(c.Folder, []trial.Service{till})
	if err != nil || string(ledgers["till"]) != `["one"]` {
		t.Errorf("ledgers %s, %v", ledgers, err)
	}
}

// Ensure that a kept entry outlives a power cut, and that what was torn neither
// counts nor harms what comes after it.
func TestEntriesAreOnDisk(t *testing.T) {
	fsys := filestest.NewMemory()
	if err := errors.Join(fsys.MkdirAll("data"), fsys.SyncDir(".")); err != nil { // as the emulators' store does
		t.Fatal(err)
	}
	for i, want := range []string{`[]`, `["entry"]`, `["entry","entry"]`} {
		l, entries, err := openLedger(fsys, "data/services", "till")
		if err != nil {
			t.Fatal(err)
		}
		if string(entries) != want {
			t.Errorf("open %d: it has %s, want %s", i, entries, want)
		}
		if err := l.keep("entry"); err != nil {
			t.Fatal(err)
		}
		if _, err := l.file.WriteAt([]byte(`"torn, and longer than an entry`), l.end); err != nil {
			t.Fatal(err)
		}
		fsys = fsys.PowerCut(100*(i%2), nil)
	}
}

var errDisk = errors.New("no space left")

// failing is a file whose syncs fail as long as err is there.
type failing struct {
	files.File
	err error
}

func (f *failing) Sync() error { return f.err }

// Ensure that nothing is kept any more once an entry may be there or not.
func TestALedgerThatFailsStaysSo(t *testing.T) {
	l, _, err := openLedger(files.System{}, t.TempDir(), "till")
	if err != nil {
		t.Fatal(err)
	}
	disk := &failing{l.file, errDisk}
	l.file = disk
	for range 2 {
		if err := l.keep("one"); !errors.Is(err, errDisk) {
			t.Errorf("kept: %v", err)
		}
		disk.err = nil
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
}
