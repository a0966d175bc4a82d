//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// leases watches the writes of transactions on their way to Cosmos DB, and notes
// each lease that is taken while another one lives.
type leases struct {
	mu    sync.Mutex
	last  map[string]workflow.Lease // by transaction
	taken int
	both  []string // what must not be
}

// write notes a write that was made: what it says of the lease, and when it was
// sent.
func (l *leases) write(body []byte, at time.Time) {
	var p struct {
		ID    string
		Lease workflow.Lease
	}
	if err := json.Unmarshal(body, &p); err != nil {
		l.both = append(l.both, fmt.Sprintf("a write that can't be read: %v", err))
		return
	}
	before := l.last[p.ID]
	if p.Lease.Runner != "" && p.Lease.Runner != before.Runner {
		l.taken++
		if before.Live(at) {
			l.both = append(l.both, fmt.Sprintf("%s: %+v was taken while %+v lived", p.ID, p.Lease, before))
		}
	}
	l.last[p.ID] = p.Lease
}

// before returns a server in front of a Cosmos DB that lets one write of a
// transaction after the other through, in the order in which they are made.
func (l *leases) before(t *testing.T, cosmos string) string {
	target := &url.URL{Scheme: "http", Host: cosmos}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the account says that it is here
	}, ErrorLog: silent}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "/colls/transactions/docs") || r.Method == http.MethodGet || r.Header.Get("x-ms-documentdb-isquery") != "" ||
			r.Header.Get("x-ms-documentdb-query") != "" {
			proxy.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client was killed
		}
		// What has arrived is done, whether its client lives to see the answer or not.
		r = r.WithContext(context.WithoutCancel(r.Context()))
		r.Body = io.NopCloser(bytes.NewReader(body))
		l.mu.Lock()
		at, answer := time.Now(), httptest.NewRecorder()
		proxy.ServeHTTP(answer, r)
		if answer.Code < 300 {
			l.write(body, at)
		}
		l.mu.Unlock()
		maps.Copy(w.Header(), answer.Header())
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()) // to a client that may have gone
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// reading is a batch that an instance has handed over.
type reading struct {
	at                time.Time
	by, partition     string
	first, afterwards int64 // sequence numbers
}

// reads is what all instances have handed over, in the order in which they told.
type reads struct {
	mu   sync.Mutex
	all  []reading
	told []string // for people
}

func (r *reads) tell(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, time.Now().Format("15:04:05.000  ")+fmt.Sprintf(format, args...))
}

// follow takes the log of an instance until it ends.
func (r *reads) follow(name string, lines <-chan string) {
	for line := range lines {
		var e struct {
			Msg, Partition string
			Time           time.Time
			First, Events  int64
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Msg == "relayed" {
			r.add(reading{e.Time, name, e.Partition, e.First, e.First + e.Events})
		}
	}
}

func (r *reads) add(one reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.of(one.partition)
	if last == nil || last.by != one.by {
		text := fmt.Sprintf("%s  partition %s: %s reads from event %d on", one.at.Local().Format("15:04:05.000"), one.partition, one.by, one.first)
		if last != nil {
			text += fmt.Sprintf(", after %s, which came to event %d %v before", last.by, last.afterwards-1, one.at.Sub(last.at).Round(time.Millisecond))
		}
		r.told = append(r.told, text)
	}
	r.all = append(r.all, one)
}

// of returns the latest reading of a partition, nil if there is none. The caller
// holds the lock.
func (r *reads) of(partition string) *reading {
	for i := range slices.Backward(r.all) {
		if r.all[i].partition == partition {
			return &r.all[i]
		}
	}
	return nil
}

// owners are who has read each partition last.
func (r *reads) owners() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	owners := map[string]string{}
	for _, one := range r.all {
		owners[one.partition] = one.by
	}
	return slices.Collect(maps.Values(owners))
}

// twice counts the events that were read more than once, of all.
func (r *reads) twice() (twice, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := map[string]int{}
	for _, one := range r.all {
		for n := one.first; n < one.afterwards; n++ {
			times[fmt.Sprint(one.partition, " ", n)]++
		}
	}
	for _, n := range times {
		if n > 1 {
			twice++
		}
	}
	return twice, len(times)
}

// await waits until the owners are as wanted.
func (r *reads) await(t *testing.T, what string, ok func(owners []string) bool) {
	t.Helper()
	deadline := time.NewTimer(2 * time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok(r.owners()) {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain until %s; owners %v", what, r.owners())
		}
	}
}

// slow returns the URL of the packages, which take so long for each call that
// transactions are under way whenever an instance is killed.
func slow(t *testing.T, latency time.Duration, app *atomic.Pointer[string]) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(latency):
		case <-r.Context().Done():
			return
		}
		(&httputil.ReverseProxy{ErrorLog: silent, Rewrite: func(p *httputil.ProxyRequest) {
			target, err := url.Parse(*app.Load() + "/api")
			if err != nil {
				t.Error(err)
				return
			}
			p.SetURL(target)
		}}).ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// silent takes what a proxy says of clients that were killed.
var silent = slog.NewLogLogger(slog.DiscardHandler, 0)

// takeOver is three instances, one after the other, on the same services.
type takeOver struct {
	t        *testing.T
	settings string // the file of the app's settings
	state    string
	packages string // the URL of that backend
	reads    reads
	wg       sync.WaitGroup
}

// start starts an instance, and returns it with the URL where it serves.
func (o *takeOver) start(name string) (*process, string) {
	o.t.Helper()
	p := launch(o.t, "host", "-app", app, "-settings", o.settings, "-state", o.state, "-http", "127.0.0.1:0", "-profile", "chaos", "-name", name)
	lines := p.until(o.t, name+" serves http://")
	_, url, _ := strings.Cut(lines[len(lines)-1], " serves ")
	o.reads.tell("%s serves", name)
	o.wg.Go(func() { o.reads.follow(name, p.lines) })
	return p, strings.TrimSpace(url)
}

// Ensure that others take over the partitions of an instance that is killed under
// load, and that one that joins gets its share: nothing is lost, and no transaction
// has two live leases. go test -v -run TestTakeOver ./infra/local shows who read
// what, and when.
func TestTakeOver(t *testing.T) {
	profile, err := system.ProfileNamed("chaos")
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range profile.Settings { // the queues' too, which the hosts don't make
		t.Setenv(name, value)
	}
	t.Setenv("RELAY_QUIET_SECONDS", "60") // longer than a batch that is worked off where it arrives
	for _, mode := range []settings.SchedulerMode{settings.SchedulerQueue, settings.SchedulerStream, settings.SchedulerBatch} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			takesOver(t, mode)
		})
	}
}

func takesOver(t *testing.T, mode settings.SchedulerMode) {
	services, err := system.StartServices(t.Context(), app, system.EmulatorsConfig{
		Addresses: system.Addresses{HTTP: "127.0.0.1:0", AMQP: "127.0.0.1:0", Cosmos: "127.0.0.1:0"}, Partitions: 4,
		Logger: slog.New(slog.DiscardHandler), Notice: func(string) {},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer services.Close()
	seen := &leases{last: map[string]workflow.Lease{}}
	endpoints := services.Endpoints()
	o := &takeOver{t: t, state: endpoints.CosmosDB}
	var at atomic.Pointer[string] // of the app
	o.packages = slow(t, 300*time.Millisecond, &at)
	o.writeSettings(mode, endpoints, strings.Replace(endpoints.CosmosDB, endpoints.Cosmos, seen.before(t, endpoints.Cosmos), 1))
	first, address := o.start("one")
	at.Store(&address)
	if err := workload.Prepare(t.Context(), workload.ClientOptions{URL: address}, chosentrial.Trial().Before); err != nil {
		t.Fatal(err)
	}
	s := &served{t: t, url: address}
	loading, stop := context.WithCancel(t.Context())
	loaded := make(chan []string, 1)
	go func() {
		defer close(loaded)
		loaded <- s.load(loading)
	}()
	has := func(name string, partitions int) func([]string) bool {
		return func(owners []string) bool {
			return len(owners) == 4 && len(slices.DeleteFunc(owners, func(by string) bool { return by != name })) == partitions
		}
	}
	o.reads.await(t, "one reads all", has("one", 4))
	second, _ := o.start("two")
	o.reads.await(t, "two has its share", has("two", 2))
	if err := second.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()
	o.reads.tell("two is killed")
	o.reads.await(t, "one has taken over", has("two", 0))
	o.reads.tell("all partitions are read again, %v after the kill", time.Since(killed).Round(time.Millisecond))
	third, _ := o.start("three")
	o.reads.await(t, "three has its share", has("three", 2))
	stop()
	accepted := <-loaded
	for _, id := range accepted {
		s.await([]string{"transaction " + id + " is Completed"}, "show", id)
	}
	twice, events := o.reads.twice()
	o.reads.tell("%d accepted, all Completed; %d events, %d of them read more than once; %d leases taken", len(accepted), events, twice, seen.taken)
	for _, p := range []*process{first, third} {
		if err := p.Process.Kill(); err != nil {
			t.Error(err)
		}
	}
	o.wg.Wait()
	t.Logf("who read which partition when:\n%s", strings.Join(o.reads.told, "\n"))
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if len(seen.both) > 0 || seen.taken < len(accepted) {
		t.Errorf("%d leases of %d transactions; two at once: %v", seen.taken, len(accepted), seen.both)
	}
}

// writeSettings writes the app's settings for these services.
func (o *takeOver) writeSettings(mode settings.SchedulerMode, e system.Endpoints, cosmosDB string) {
	o.t.Helper()
	var file struct {
		IsEncrypted bool
		Values      map[string]string
	}
	text, err := os.ReadFile(filepath.Join(app, "local.settings.json"))
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		o.t.Fatal(err)
	}
	maps.Copy(file.Values, map[string]string{"EventHubs": e.EventHubs, "ServiceBus": e.ServiceBus, "CosmosDB": cosmosDB,
		"SCHEDULER": string(mode), "BACKEND_PACKAGE_URL": o.packages, "LOG_LEVEL": "debug", "FLIGHT_TIME_SCALE": "0.0005", "FLEET_DRONES": "400"})
	if text, err = json.Marshal(file); err != nil {
		o.t.Fatal(err)
	}
	o.settings = filepath.Join(o.t.TempDir(), "settings.json")
	if err := os.WriteFile(o.settings, text, 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// load asks for a delivery every now and then until ctx ends, and returns those
// that were accepted.
func (s *served) load(ctx context.Context) (accepted []string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return accepted
		}
		id := fmt.Sprintf("load-%d", n)
		s.put(id, 2.5)
		accepted = append(accepted, id)
	}
}
