package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/chaos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/delivery"
)

// Ensure that the promises hold while everything breaks, and that scripts can
// read the report.
func TestChaosAsJSON(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	exit := run(t.Context(), console{out: &out, errOut: &errOut, args: []string{
		"chaos", "-json", "-requests", "100", "-duration", "4s", "-seed", "5", "-dir", filepath.Join(t.TempDir(), "run")}})
	if exit != exitOK {
		t.Fatalf("exit %d\n%s%s", exit, out.String(), errOut.String())
	}
	var report *chaos.Report
	for line := range strings.Lines(out.String()) {
		var object struct{ Report *chaos.Report }
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Errorf("%q is not JSON: %v", line, err)
		}
		if report != nil {
			t.Errorf("%q comes after the report", line)
		}
		report = object.Report
	}
	if report == nil || !report.OK() || report.Clients.Accepted < 80 || report.TreeKills != 1 || report.Crashes.Points == 0 {
		t.Fatalf("report %+v", report)
	}
	hit := 0
	for _, c := range report.Faults {
		if c.Hit > 0 {
			hit++
		}
	}
	if hit < 3 {
		t.Errorf("faults %+v", report.Faults)
	}
}

// Ensure that a run in which something was lost fails with its id, and keeps
// the data.
func TestChaosFindsWhatIsLost(t *testing.T) {
	t.Parallel()
	f := chaosFlags{
		requests: 40, instances: 1, shards: 1, seed: 1, duration: time.Second, settle: time.Minute,
		faults: "none", scheduler: "stream", dir: filepath.Join(t.TempDir(), "run"),
	}
	config, err := f.config(newDisplay(io.Discard, false))
	if err != nil {
		t.Fatal(err)
	}
	var lost string
	config.BeforeCheck = func(ctx context.Context, s invariant.Source) error {
		lost, err = loseDelivery(ctx, config.Subject, s)
		return err
	}
	report, err := chaos.Run(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = showReport(console{out: &out}, newDisplay(&out, false), report)
	if err == nil || !strings.Contains(err.Error(), "serve -data") {
		t.Errorf("error %v, want one that tells where the data is", err)
	}
	if lost == "" || !strings.Contains(out.String(), "\n"+lost+"\n  completed: missing") {
		t.Errorf("delivery %q was removed:\n%s", lost, out.String())
	}
}

// Ensure that a run in which too little has happened fails, and names what.
func TestChaosThatProvesNothing(t *testing.T) {
	var out bytes.Buffer
	report := &chaos.Report{Settled: true, Bounds: []chaos.Bound{{Name: "accepted", Wanted: 70}, {Name: "completed", Wanted: 40, Seen: 40}}}
	err := showReport(console{out: &out}, newDisplay(&out, false), report)
	if err == nil || !strings.Contains(err.Error(), "accepted: wanted 70, seen 0;") || strings.Contains(err.Error(), "completed") {
		t.Errorf("error %v", err)
	}
	if !strings.Contains(out.String(), "BELOW ITS BOUND") {
		t.Errorf("the report does not show it:\n%s", out.String())
	}
}

// loseDelivery removes a delivery from its backend's storage.
func loseDelivery(ctx context.Context, subject *invariant.Subject, s invariant.Source) (string, error) {
	database, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.CosmosDB}, cosmosdb.Options{Database: s.Database})
	if err != nil {
		return "", err
	}
	defer database.Close()
	snapshot, err := subject.Collect(ctx, s)
	if err != nil {
		return "", err
	}
	container := database.Container(delivery.DeliveriesContainer)
	for _, d := range snapshot.Records[delivery.DeliveriesContainer] {
		if d.Live() {
			return d.ID, container.Delete(ctx, d.ID, d.ID)
		}
	}
	return "", nil
}

// Ensure that the line that repeats a run has each flag that decides what it is,
// and means the same run.
func TestTheLineRepeatsTheRun(t *testing.T) {
	values := map[string]string{
		"requests": "77", "seed": "99", "duration": "33s", "encore": "11s", "faults": "all,amqp.drop=0.5", "scheduler": "batch", "instances": "3", "shards": "2",
		"tree-kills": "4", "clocks-apart": "1s", "crash-points": "false", "settle": "2m0s", "samples": "some folder/samples.json",
	}
	besides := []string{"dir", "keep", "json"} // where it works, what it leaves and shows
	var f, again chaosFlags
	flags := newFlags("chaos")
	f.define(flags)
	flags.VisitAll(func(d *flag.Flag) {
		value, known := values[d.Name]
		if !known && !slices.Contains(besides, d.Name) {
			t.Errorf("-%s is neither in the line nor among those that don't belong there", d.Name)
		}
		if known && flags.Set(d.Name, value) != nil {
			t.Errorf("-%s does not take %q", d.Name, value)
		}
	})
	parsed := newFlags("chaos")
	again.define(parsed)
	_, args, _ := strings.Cut(f.line(), " chaos ")
	var words []string
	for i, quoted := range strings.Split(args, "'") {
		if i%2 == 1 {
			words = append(words, quoted)
		} else {
			words = append(words, strings.Fields(quoted)...)
		}
	}
	if err := parsed.Parse(words); err != nil || again != f {
		t.Errorf("%s\nmeans %+v (%v), and was %+v", f.line(), again, err, f)
	}
}

func TestMistakesInTheCallOfChaos(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"requests":  {[]string{"-requests", "3"}, "-requests 3: use 20"},
		"duration":  {[]string{"-duration", "1ms", "-settle", "0s"}, "-duration 1ms: use 1s to 1h; -settle 0s"},
		"faults":    {[]string{"-faults", "gremlins"}, `there is no fault "gremlins"`},
		"kills":     {[]string{"-tree-kills", "-1"}, "-tree-kills -1: use 0 to 20"},
		"encore":    {[]string{"-encore", "-1s"}, "-encore -1s: use 0s to 1h"},
		"clocks":    {[]string{"-clocks-apart", "5s"}, "-clocks-apart 5s: use 0s to 4s"},
		"scheduler": {[]string{"-scheduler", "bunch"}, `-scheduler "bunch": use one of [queue stream batch]`},
		"instances": {[]string{"-instances", "0"}, "-instances 0: use 1 to 16"},
	} {
		t.Run(name, func(t *testing.T) {
			var out, errOut bytes.Buffer
			exit := run(t.Context(), console{args: append([]string{"chaos"}, c.args...), out: &out, errOut: &errOut})
			if exit != exitUsage || !strings.Contains(errOut.String(), c.want) {
				t.Errorf("exit %d, stderr %q; want %q in it", exit, errOut.String(), c.want)
			}
		})
	}
}
