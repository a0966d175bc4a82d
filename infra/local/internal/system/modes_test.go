package system_test

import (
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// lines are what a handler says.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(line string, _ bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.all, "\n"), text)
}

// Ensure that a restart changes the mode, under load and in any direction, beside an
// instance of another mode: each instance gets events, nothing is lost and nothing is
// done twice.
func TestModesChangeUnderLoad(t *testing.T) {
	t.Parallel()
	set := maps.Clone(short)
	maps.Copy(set, map[string]string{"SCHEDULER": "stream", "RELAY_QUIET_SECONDS": "40", "FLEET_DRONES": "300", "FLIGHT_TIME_SCALE": "0.01", "LOG_LEVEL": "debug"})
	r := startConfig(t, system.Config{Settings: set, Profile: chaosProfile(t)})
	r.killed = true // what an instance that stops leaves in doubt is undone
	var beside *system.Instance
	leave := func() {
		if beside != nil {
			if err := beside.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
			beside = nil
		}
	}
	defer leave()
	for i, mode := range []settings.SchedulerMode{"queue", "stream", "batch", "queue"} {
		said := &lines{}
		r.workload(uint64(10+i), 60, func(tally *workload.Tally) {
			await(t, "half of the load", func() bool { return tally.Accepted.Load() >= 20 })
			leave()
			own := r.Settings()
			own["SCHEDULER"] = string(mode)
			var err error
			if beside, err = system.StartInstance(t.Context(), system.InstanceConfig{
				Name: fmt.Sprintf("beside %d", i), App: app, HTTP: "127.0.0.1:0", Settings: own, State: r.Endpoints().CosmosDB, Profile: chaosProfile(t),
				Logger: slog.New(slog.NewTextHandler(r, nil)), HandlerLog: said.add,
			}); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
		})
		await(t, "events for the instance in mode "+string(mode), func() bool {
			r.workload(uint64(20+i), 20, undisturbed)
			return said.has(`"msg":"relayed"`)
		})
	}
	leave()
	r.holds()
}

func chaosProfile(t *testing.T) system.Profile {
	t.Helper()
	p := profile(t, "chaos")
	p.Settings = nil // only the host's times
	return p
}

// holds checks the invariants over what is stored.
func (r *run) holds() {
	r.t.Helper()
	subject, err := invariant.NewSubject(chosen.Business(), chosentrial.Trial())
	if err != nil {
		r.t.Fatal(err)
	}
	at, app := r.Endpoints(), r.AppSettings()
	stored, err := subject.Collect(r.t.Context(), invariant.Source{CosmosDB: at.CosmosDB, Database: app.Database, ServiceBus: at.ServiceBus, Queues: app.Queues()})
	if err != nil {
		r.t.Fatal(err)
	}
	for _, i := range subject.Check(stored).Invariants {
		if i.Name == "quarantine" { // which needs to know the poison: the workload counts it
			continue
		}
		for _, v := range i.Violations {
			r.t.Errorf("%s: %+v", i.Name, v)
		}
	}
}
