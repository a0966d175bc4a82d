package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	chosentrial "github.com/fabrikam/drone-delivery/infra/local/internal/chosen"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/play"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	trees "github.com/fabrikam/drone-delivery/infra/local/internal/tree"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// runService plays one of the trial's services, as a child of serve.
func runService(ctx context.Context, c console) error {
	flags := newFlags("service")
	name := flags.String("name", "", "which of the trial's services")
	address := flags.String("address", "127.0.0.1:0", "loopback `address` to serve at")
	folder := flags.String("folder", "", "`folder` of its ledger")
	faultsFrom := flags.String("faults-from", "", "`URL` of an admin endpoint; its plan of faults applies here, too")
	late := flags.Duration("late", time.Second, "how long a late answer is held back")
	untilEOF := flags.Bool("until-eof", false, "stop in order when standard input says \"stop\"; exit at once when it ends without that word")
	if err := parse(c, flags); err != nil {
		return err
	}
	all := services()
	i := slices.IndexFunc(all, func(s trial.Service) bool { return s.Name == *name })
	if i < 0 {
		return &usageError{fmt.Sprintf("service: -name %q: the business's trial has no such service", *name)}
	}
	if *folder == "" {
		return &usageError{"service: name the folder of the ledger with -folder"}
	}
	if err := checkAddresses("service", system.Addresses{HTTP: *address}); err != nil {
		return err
	}
	if *untilEOF {
		ctx = endWithInput(ctx, os.Stdin)
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	played := play.Config{Service: all[i], Folder: *folder, Late: *late, Die: func() { os.Exit(exitKilled) }}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	if *faultsFrom != "" {
		// A process that goes on after a death decides otherwise than the one before.
		played.Faults = fault.NewInstance(fmt.Sprintf("%s, process %d", *name, os.Getpid()))
		log := consoleLog(c.out)
		following.Go(func() { system.FollowFaults(ctx, played.Faults, *faultsFrom, log.logger) })
	}
	newDisplay(c.out, false).note("%s serves http://%s", *name, listener.Addr())
	return play.Serve(ctx, listener, played)
}

// exitKilled is how the process of a service ends at fault.ServiceKill.
const exitKilled = 3

// services are those that the business's trial plays.
func services() []trial.Service {
	if t := chosentrial.Trial(); t != nil {
		return t.Services
	}
	return nil
}

// foreign are the services that serve plays: those of the trial but for what the
// environment or the settings file has elsewhere.
type foreign struct {
	services  []trial.Service
	addresses []string
	release   func() // lets go of the addresses, which until then nothing else here gets
	folder    string // of the ledgers
	temporary bool   // the folder is removed in the end
}

// planServices chooses addresses for the services. data is the folder that keeps the
// state, "" for none: then the ledgers are kept for as long as this process serves.
func planServices(settingsFile, data string) (*foreign, error) {
	here := map[string]string{}
	if settingsFile != "" {
		file, err := config.ReadLocalSettings("", settingsFile)
		if err != nil {
			return nil, err
		}
		here = file
	}
	f := &foreign{folder: play.Folder(data)}
	for _, s := range services() {
		_, inFile := here[s.Setting]
		if _, ok := os.LookupEnv(s.Setting); !ok && !inFile {
			f.services = append(f.services, s)
		}
	}
	var err error
	if f.addresses, f.release, err = trees.HoldPorts(len(f.services)); err != nil {
		f.release()
		return nil, err
	}
	if data == "" && len(f.services) > 0 {
		f.temporary = true
		f.folder, err = os.MkdirTemp("", "services")
	}
	return f, err
}

// in returns the settings with the URLs of the services.
func (f *foreign) in(settings map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, settings)
	for i, s := range f.services {
		all[s.Setting] = "http://" + f.addresses[i]
	}
	return all
}

// children are the processes of the services of a system, which are to be started now: it lets
// go of their addresses. Late answers come after the longest time-out of a call.
func (f *foreign) children(s *system.System, faults *fault.Injector, log *logFile, notice func(string)) []child {
	b := chosen.Business()
	late := b.Workflow.LongestCall(s.AppSettings().Budgets.Call) * 3 / 2
	admin := s.Endpoints().Admin
	f.release()
	var all []child
	for i, s := range f.services {
		all = append(all, child{
			name: s.Name, log: log, notice: notice,
			args: []string{"service", "-name", s.Name, "-address", f.addresses[i], "-folder", f.folder,
				"-faults-from", admin, "-late", late.String(), "-until-eof"},
			ended: func(err error) {
				var exit *exec.ExitError
				if errors.As(err, &exit) && exit.ExitCode() == exitKilled {
					faults.Done(fault.ServiceKill) // the process could not tell of it
				}
			},
		})
	}
	return all
}

// startLimit is how long the services may take to serve.
const startLimit = 20 * time.Second

// serving waits until all services serve.
func (f *foreign) serving(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var dialer net.Dialer
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for i, s := range f.services {
		for {
			conn, err := dialer.DialContext(ctx, "tcp", f.addresses[i])
			if err == nil {
				_ = conn.Close() // nothing was sent
				break
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("wait until %s serves at %s: %w", s.Name, f.addresses[i], errors.Join(err, ctx.Err()))
			}
		}
	}
	return nil
}

// close removes what is kept for this process alone.
func (f *foreign) close() error {
	f.release() // if no child was started
	if !f.temporary {
		return nil
	}
	return os.RemoveAll(filepath.Clean(f.folder))
}
