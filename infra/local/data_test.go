package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Ensure that serve and emulators keep their state unless told otherwise, that
// demo doesn't, and that each says so.
func TestDataFlags(t *testing.T) {
	for name, c := range map[string]struct {
		kept bool
		args []string
		want string
	}{
		"kept by default":      {true, nil, filepath.Join("app", "local", "data")},
		"not kept by default":  {false, nil, ""},
		"a folder":             {true, []string{"-data", "d"}, "d"},
		"a folder for once":    {false, []string{"-data", "d"}, "d"},
		"ephemeral":            {true, []string{"-ephemeral"}, ""},
		"ephemeral as always":  {false, []string{"-ephemeral"}, ""},
		"ephemeral taken back": {true, []string{"-ephemeral=false"}, filepath.Join("app", "local", "data")},
	} {
		t.Run(name, func(t *testing.T) {
			f := dataFlags{kept: c.kept}
			flags := newFlags("test")
			f.define(flags)
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			if err := f.check("test"); err != nil {
				t.Fatal(err)
			}
			if got := f.in(filepath.Join("app", "local")); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	for command, want := range map[string]string{
		"serve": "default .build/local/data", "emulators": "default .build/local/data", "demo": "default: keep nothing",
	} {
		var out, errOut bytes.Buffer
		if exit := run(t.Context(), console{args: []string{command, "-help"}, out: &out, errOut: &errOut}); exit != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s -help: exit %d, %q; want %q in it", command, exit, out.String(), want)
		}
		exit := run(t.Context(), console{args: []string{command, "-data", "d", "-ephemeral"}, out: &out, errOut: &errOut})
		if want := command + ": -data and -ephemeral: use one of them"; exit != exitUsage || !strings.Contains(errOut.String(), want) {
			t.Errorf("exit %d, %q; want %q in it", exit, errOut.String(), want)
		}
	}
}

// freeAddresses returns addresses that nobody listens on, for a system that is to
// come back where it was.
func freeAddresses(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// Ensure that every request that was accepted becomes final although the whole
// system is killed again and again in the middle of its work, and started anew
// with the same folder.
func TestKilledSystemGoesOn(t *testing.T) {
	t.Parallel()
	at := freeAddresses(t, 3)
	folder := filepath.Join(t.TempDir(), "data")
	serving := func() *process {
		return launchWith(t, []string{"FLEET_DRONES=300"}, "serve", "-app", app, "-profile", "chaos", "-data", folder, "-http", at[0], "-amqp", at[1], "-cosmos", at[2])
	}
	client := &http.Client{Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	url := "http://" + at[0] + "/api/deliveryrequests"

	const kills, each = 3, 20
	var accepted []string
	for round := range kills {
		p := serving()
		begun := strings.Join(p.until(t, "Ctrl-C stops everything"), "\n")
		if want := map[bool]string{true: "keeping state in ", false: "the last stop was not clean"}[round == 0]; !strings.Contains(begun, want) {
			t.Errorf("round %d: no %q in\n%s", round, want, begun)
		}
		ids := post(t, client, url, round, 2*each)
		for range each {
			accepted = append(accepted, <-ids)
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		p.Wait()              // tells only that it was killed
		for id := range ids { // answered just before
			accepted = append(accepted, id)
		}
	}
	p := serving()
	p.until(t, "Ctrl-C stops everything")
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, id := range accepted {
		for {
			state := stateOf(t, client, url+"/"+id)
			if state == "Completed" {
				break
			}
			select {
			case <-tick.C:
			case <-deadline.C:
				t.Fatalf("%s was accepted and is %s", id, state)
			}
		}
	}
}

// post sends requests, some at a time, and gives the ids of those that are
// accepted; the others found nobody.
func post(t *testing.T, client *http.Client, url string, round, n int) <-chan string {
	t.Helper()
	ids := make(chan string, n)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < n; i += 8 {
				now := time.Now().UTC()
				body := fmt.Appendf(nil, `{"ownerId":"owner-%d","pickup":{"latitude":47.6,"longitude":-122.3},
					"dropOff":{"latitude":47.62,"longitude":-122.31},"pickupTime":%q,"deliverBy":%q,"expedited":false,
					"confirmationRequired":"None","packageInfo":{"packageId":"p-%d-%d","size":"Small","weightKg":1.5,"tag":"books"}}`,
					1+i%5, now.Format(time.RFC3339), now.Add(5*time.Hour).Format(time.RFC3339), round, i)
				resp, err := client.Post(url, "application/json", bytes.NewReader(body))
				if err != nil {
					continue
				}
				var answer struct{ TransactionID string }
				err = json.NewDecoder(resp.Body).Decode(&answer)
				resp.Body.Close()
				if resp.StatusCode == http.StatusAccepted && err == nil {
					ids <- answer.TransactionID
				}
			}
		})
	}
	go func() {
		all.Wait()
		close(ids)
	}()
	return ids
}

// stateOf reads the state of a transaction; an answer that is none is tried again
// by the caller.
func stateOf(t *testing.T, client *http.Client, url string) string {
	t.Helper()
	resp, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		return fmt.Sprintf("%s %s %v", resp.Status, body, err)
	}
	var answer struct{ State string }
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return answer.State
}
