package system

import (
	"bufio"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
)

// Ensure that nothing listens where other machines reach it unless that is asked
// for, and that the error says how to.
func TestAddressesOfThisMachineAlone(t *testing.T) {
	for address, local := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "[::1]:0": true, "0": true, "": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "example.com:0": false,
	} {
		for flag, at := range map[string]Addresses{"-http": {HTTP: address}, "-amqp": {AMQP: address}, "-cosmos": {Cosmos: address}} {
			err := at.Check()
			if local != (err == nil) || err != nil && (!strings.Contains(err.Error(), flag) || !strings.Contains(err.Error(), "-open-to-network")) {
				t.Errorf("%s %q: %v", flag, address, err)
			}
			at.OpenToNetwork = true
			if err := at.Check(); err != nil {
				t.Errorf("%s %q, open: %v", flag, address, err)
			}
		}
		if local {
			continue
		}
		if l, err := listen(address, "-http", false); err == nil {
			t.Errorf("%q is served", address)
			l.Close()
		}
	}
	l, err := listen("0.0.0.0:0", "-http", true)
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}

// Ensure that a page of another origin and a rebound name are refused where the
// services are emulated and where faults are planned, and that nothing changes.
func TestPagesReachNoEmulator(t *testing.T) {
	e, _, err := emulatorsIn(t, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	in := fault.New()
	a := serveInjector(t, in)
	for _, url := range []string{"http://" + e.CosmosAddress() + "/dbs", a.url() + "/faults", a.url() + countsPath} {
		for what, change := range map[string]func(*http.Request){
			"another origin": func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
			"a rebound name": func(r *http.Request) { r.Host = "evil.example" },
			"a form's page":  func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut} {
				r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(`{"cosmos.throttle":{"asked":1,"hit":1}}`))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/json")
				change(r)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				if resp.StatusCode != http.StatusForbidden {
					t.Errorf("%s %s by %s: %d", method, url, what, resp.StatusCode)
				}
			}
		}
	}
	resp, err := http.Post(a.url()+countsPath, "text/plain", strings.NewReader(`{"cosmos.throttle":{"asked":1,"hit":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusUnsupportedMediaType {
		t.Errorf("counts as text: %d", resp.StatusCode)
	}
	if counts := in.Counts(); len(counts) != 0 {
		t.Errorf("counted: %v", counts)
	}
}

// Ensure that the message services hang up on HTTP, so that no page can be read
// as AMQP: what they answer is their own protocol's header at most.
func TestPagesSpeakNoAMQP(t *testing.T) {
	e, _, err := emulatorsIn(t, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	conn, err := net.Dial("tcp", e.AMQPAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 8\r\n\r\nAMQP\x00\x01\x00\x00")); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, 0, 64)
	for in := bufio.NewReader(conn); ; {
		b, err := in.ReadByte()
		if err != nil {
			break // it has hung up
		}
		answer = append(answer, b)
	}
	if len(answer) > 8 || len(answer) > 0 && !strings.HasPrefix(string(answer), "AMQP") {
		t.Errorf("answered %q", answer)
	}
}

// Ensure that no other user of the machine reads what is kept, nor where it is
// served, also in a folder that was open before.
func TestStateIsItsOwnersAlone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes: the folder inherits who may read it")
	}
	folder := filepath.Join(t.TempDir(), "above", "data")
	for _, before := range []fs.FileMode{0, 0o755} {
		if before != 0 {
			if err := os.Chmod(folder, before); err != nil {
				t.Fatal(err)
			}
		}
		e, _, err := emulatorsIn(t, folder)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(folder, "..", "served", "endpoints.json")
		if err := e.Endpoints().Write(file); err != nil {
			t.Error(err)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		for path, want := range map[string]fs.FileMode{folder: 0o700, filepath.Dir(file): 0o700, file: 0o600} {
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
				t.Errorf("%s: %v, %v, want %v", path, info.Mode().Perm(), err, want)
			}
		}
	}
}

// Ensure that a host wants keys as the app's AUTH_MODE says.
func TestAccess(t *testing.T) {
	for mode, want := range map[string]access{
		"off": {}, "": {}, "entra": {masterKey: "mk"}, "keys": {functions: true, hostKey: "bk", masterKey: "mk"},
	} {
		i := &Instance{c: InstanceConfig{MasterKey: "mk"}, env: environment{set: map[string]string{"AUTH_MODE": mode, "BACKEND_KEY": "bk"}}}
		if got := i.access(); got != want {
			t.Errorf("%q: %+v, want %+v", mode, got, want)
		}
	}
	i := &Instance{env: environment{set: map[string]string{"AUTH_MODE": "entra"}}}
	if a, b := i.access().masterKey, i.access().masterKey; len(a) < 26 || a == b {
		t.Errorf("the key that nobody is told can be guessed: %q, %q", a, b)
	}
}
