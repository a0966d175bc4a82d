package system_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
)

// functions are the names of what an instance's host has loaded, sorted.
func functions(i *system.Instance) []string {
	var names []string
	for _, f := range i.Host().Functions() {
		names = append(names, f.Name)
	}
	return names
}

// Ensure that the workflow and the backends do their work as two apps, as they do
// in Azure, from one staged folder.
func TestTwoApps(t *testing.T) {
	t.Parallel()
	r := startConfig(t, system.Config{Split: true, Settings: map[string]string{"FLEET_DRONES": "60", "FLIGHT_TIME_SCALE": "0.002"}})
	workflow := []string{"DeadLetterCompensations", "DeadLetterNotifications", "DeadLetterTransactions", "Ingest", "Live", "Notify",
		"Operations", "Page", "Progress", "Ready", "Relay", "Schedule", "Supervise", "Sweep"}
	if got := functions(r.Instance); !slices.Equal(got, workflow) {
		t.Errorf("the workflow has %v, want %v", got, workflow)
	}
	backends := []string{"Accounts", "Deliveries", "DroneDeliveries", "Drones", "Live", "Packages", "Ready", "ThirdPartyDeliveries"}
	if got := functions(r.Backends); !slices.Equal(got, backends) {
		t.Errorf("the backends have %v, want %v", got, backends)
	}

	// Each app asks for the services that it has settings for.
	for url, want := range map[string][]string{
		r.url(""):                   {"cosmosDB", "eventHubs", "serviceBus", "status"},
		r.Endpoints().BackendsURL(): {"cosmosDB"},
	} {
		var ready struct{ Checks map[string]string }
		if status := getJSON(t, url+"/api/ready", &ready); status != http.StatusOK {
			t.Errorf("%s is not ready: %d %v", url, status, ready)
		}
		if got := slices.Sorted(maps.Keys(ready.Checks)); !slices.Equal(got, want) {
			t.Errorf("%s checks %v, want %v", url, got, want)
		}
	}
	// The backends are not even told where the others are. Only Linux shows what a
	// process was told.
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", r.Backends.Host().HandlerPID()))
	for setting := range strings.SplitSeq(string(environ), "\x00") {
		name, value, _ := strings.Cut(setting, "=")
		if value != "" && (strings.HasPrefix(name, "EventHubs") || strings.HasPrefix(name, "ServiceBus") || strings.HasPrefix(name, "BACKEND_")) {
			t.Errorf("the backends' handler has %s", name)
		}
	}
	if runtime.GOOS == "linux" && (err != nil || !strings.Contains(string(environ), "CosmosDB=")) {
		t.Errorf("the environment of the backends' handler: %d bytes, %v", len(environ), err)
	}
	r.want(http.StatusNotFound, http.MethodGet, "/api/account/owner-1", "")
	var account struct{ Status string }
	if status := getJSON(t, r.Endpoints().BackendsURL()+"/api/account/owner-1", &account); status != http.StatusOK || account.Status == "" {
		t.Errorf("owner-1: %d %+v", status, account)
	}
	if status := getJSON(t, r.Endpoints().BackendsURL()+"/api/deliveryrequests/x", nil); status != http.StatusNotFound {
		t.Errorf("the backends answer a client with %d", status)
	}

	r.workload(3, 60, undisturbed)
	if n := r.deadLetters(); n > 0 {
		t.Errorf("%d dead letters, want none", n)
	}
}

// Ensure that the second app finds a port when the next one is taken.
func TestBackendsTakeTheNextFreePort(t *testing.T) {
	for tries := 10; ; tries-- {
		taken, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { taken.Close() })
		port := taken.Addr().(*net.TCPAddr).Port
		at := freePorts
		at.HTTP = fmt.Sprintf("127.0.0.1:%d", port-1)
		s, err := system.Start(t.Context(), system.Config{App: app, Addresses: at, Split: true, Logger: slog.New(slog.DiscardHandler)})
		if errors.Is(err, syscall.EADDRINUSE) && tries > 0 {
			continue // the port before is somebody's
		}
		if err != nil {
			t.Fatal(err)
		}
		got := s.Endpoints()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		backends, err := netip.ParseAddrPort(got.Backends)
		if err != nil || int(backends.Port()) <= port || int(backends.Port()) > port+20 || got.HTTP != at.HTTP {
			t.Errorf("the app at %s, the backends at %s, want them soon after %d: %v", got.HTTP, got.Backends, port, err)
		}
		return
	}
}

func TestSplitOfAnAppWithChosenFunctions(t *testing.T) {
	s, err := system.Start(t.Context(), system.Config{
		App: app, Addresses: freePorts, Split: true, Logger: slog.New(slog.DiscardHandler),
		Settings: map[string]string{"AzureFunctionsJobHost__functions__0": "Live"},
	})
	if err == nil {
		t.Fatalf("started; close: %v", s.Close())
	}
	if want := "the settings already choose its functions (AzureFunctionsJobHost__functions__0 is Live)"; !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// getJSON reads an answer, nil for none, and returns its status.
func getJSON(t *testing.T, url string, into any) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			t.Fatalf("%s: %s: %v", url, body, err)
		}
	}
	return resp.StatusCode
}
