package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
	"github.com/fabrikam/drone-delivery/infra/local/internal/cosmos"
	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// The environment of the process that is killed.
const (
	doomedScript    = "CRASHES_TEST_SCRIPT"
	doomedMessaging = "CRASHES_TEST_MESSAGING"
	doomedCosmos    = "CRASHES_TEST_COSMOS"
)

// TestHandlersDieAtTheirEffects lets a process work through the adapters, and
// kills it at one of its effects: what it learnt before, what is stored, and
// which deaths are noted must fit.
func TestHandlersDieAtTheirEffects(t *testing.T) {
	if script := os.Getenv(doomedScript); script != "" {
		doomed(t, strings.Split(script, ","))
		return
	}
	send := []string{"send a", "send b", "send c"}
	put := []string{"put a", "put b", "put c"}
	create := []string{"create a Running", "create b Running", "create c Running"}
	for name, c := range map[string]struct {
		script []string
		point  string
		at     int
		faults map[fault.Point]float64
		acks   int // operations that the process has seen done
		want   stored
	}{
		"a send before":           {send, "send.q.before", 2, nil, 1, stored{Messages: 1}},
		"a send behind":           {send, "send.q.answer", 2, nil, 1, stored{Messages: 2}},
		"an event before":         {put, "send.h.before", 2, nil, 1, stored{Events: 1}},
		"an event behind":         {put, "send.h.answer", 2, nil, 1, stored{Events: 2}},
		"a write before":          {create, "write.transactions.before", 2, nil, 1, stored{Items: "a:Running"}},
		"a write behind":          {create, "write.transactions.answer", 2, nil, 1, stored{Items: "a:Running b:Running"}},
		"a batch is one":          {[]string{"batch 3", "batch 4"}, "send.q.answer", 2, nil, 1, stored{Messages: 7}},
		"a batch is not half":     {[]string{"batch 3", "batch 4"}, "send.q.before", 2, nil, 1, stored{Messages: 3}},
		"a write by its state":    {[]string{"create a Running", "change a Completed", "change a Running"}, "write.transactions.Completed.answer", 1, nil, 1, stored{Items: "a:Completed"}},
		"a message that is known": {[]string{"send a", "send a", "send a", "send b"}, "send.q.answer", 2, nil, 3, stored{Messages: 2}},
		"a known one arrives":     {[]string{"send a", "send a", "send b"}, "send.q.before", 3, nil, 2, stored{Messages: 1}},
		"a conflict":              {[]string{"create a Running", "create a Running", "create b Running"}, "write.transactions.answer", 2, nil, 2, stored{Items: "a:Running b:Running"}},
		"reads are none":          {[]string{"create a Running", "read a", "read a", "change a Completed"}, "write.transactions.before", 2, nil, 3, stored{Items: "a:Running"}},
		"an SDK's repeat is one":  {send, "send.q.before", 2, map[fault.Point]float64{fault.ServiceBusSendLost: 1}, 0, stored{Messages: 1}},
		"another effect":          {append(send, put...), "write.transactions.before", 1, nil, 6, stored{Messages: 3, Events: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startCrashing(t, effect.Plan{Run: "0a1b2c3d", Points: map[string]int{c.point: c.at}}, c.faults)
			// Who is no handler of the run changes the same things, and does not count.
			s.run(t, "ffffffff0001", "create other Running", "send other", "put other")
			acks, killed := s.run(t, effect.Plan{Run: "0a1b2c3d"}.InstanceID("instance 1"), c.script...)
			if acks != c.acks {
				t.Errorf("%d operations were done, want %d", acks, c.acks)
			}
			if want := c.acks < len(c.script); killed != want {
				t.Errorf("killed %t, want %t", killed, want)
			}
			c.want.Messages++
			c.want.Events++
			c.want.Items = strings.TrimSpace(c.want.Items + " other:Running")
			if diff := cmp.Diff(c.want, s.stored(t)); diff != "" {
				t.Errorf("stored (-want +got):\n%s", diff)
			}
			want := map[string]int{}
			if killed {
				want[c.point] = 1
			}
			deaths, err := s.deaths(len(want))
			if diff := cmp.Diff(want, deaths); err != nil || diff != "" {
				t.Errorf("deaths: %v\n%s", err, diff)
			}
		})
	}
}

// stored is what the services have in the end.
type stored struct {
	Messages, Events int
	Items            string // id:state
}

type crashing struct {
	dir, messaging, cosmos string
	broker                 *broker.Broker
}

// startCrashing serves a queue, a hub and the containers, and kills by a plan.
func startCrashing(t *testing.T, p effect.Plan, rates map[fault.Point]float64) *crashing {
	t.Helper()
	s := &crashing{dir: t.TempDir()}
	if err := p.Write(s.dir); err != nil {
		t.Fatal(err)
	}
	watch, err := effect.Open(s.dir, slog.New(slog.NewTextHandler(t.Output(), nil)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(watch.Close)
	in := fault.New()
	plan(t, in, fault.Plan{Rates: rates})
	s.messaging, _, s.broker = adaptersBroker(t, broker.Config{
		Queues: []broker.QueueConfig{{Name: "q", DuplicateWindow: time.Minute}}, Hubs: []broker.HubConfig{{Name: "h", Partitions: 1}},
		Crashes: watch, Faults: in,
	})
	s.cosmos = adaptersAccount(t, cosmos.Config{RangesPerContainer: 3, Crashes: watch})
	return s
}

// deaths waits for so many. A death is noted when the process is gone, and its
// parent may learn of that sooner.
func (s *crashing) deaths(want int) (map[string]int, error) {
	for limit := time.Now().Add(10 * time.Second); ; {
		deaths, err := effect.Deaths(s.dir)
		if err != nil || len(deaths) >= want || time.Now().After(limit) {
			return deaths, err
		}
	}
}

// run has a process of an instance do what the script says, and returns how many
// operations it has seen done, and whether it was killed.
func (s *crashing) run(t *testing.T, instance string, script ...string) (acks int, killed bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestHandlersDieAtTheirEffects$")
	cmd.Env = append(os.Environ(), "WEBSITE_INSTANCE_ID="+instance, doomedScript+"="+strings.Join(script, ","),
		doomedMessaging+"="+s.messaging, doomedCosmos+"="+s.cosmos)
	output, err := cmd.Output()
	if ctx.Err() != nil {
		t.Fatalf("the process hangs: %s", output)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil && exit.Exited() {
		t.Fatalf("the process failed: %s", output)
	}
	return bytes.Count(output, []byte("acknowledged\n")), err != nil
}

// stored reads what the services have, as one whose reads nobody counts.
func (s *crashing) stored(t *testing.T) stored {
	t.Helper()
	var out stored
	stats := s.broker.Stats()
	out.Messages = stats.Queues[0].Active
	out.Events = int(stats.Hubs[0].Partitions[0].Last) + 1
	container := containerOf(t, s.cosmos, "")
	for _, id := range []string{"a", "b", "c", "other"} {
		doc, _, err := container.Read(t.Context(), id, id)
		if failure.Is(err, failure.NotFound) {
			continue
		}
		var item struct{ State string }
		if err := errors.Join(err, json.Unmarshal(doc, &item)); err != nil {
			t.Fatal(err)
		}
		out.Items = strings.TrimSpace(out.Items + " " + id + ":" + item.State)
	}
	return out
}

func containerOf(t *testing.T, connection, application string) *cosmosdb.Container {
	t.Helper()
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: connection}, cosmosdb.Options{Database: adaptersDatabase, Application: application})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	container := db.Container("transactions")
	return container
}

// doomed is the process that is killed: it does one operation after the other by
// the adapters, as the handler has them, and tells of each that was answered.
func doomed(t *testing.T, script []string) {
	t.Helper()
	application := telemetry.Process()
	sender, err := messaging.OpenSender(messaging.Connection{ConnectionString: os.Getenv(doomedMessaging)},
		messaging.Options{RetryDelay: time.Millisecond, MaxRetryDelay: time.Millisecond, Application: application})
	if err != nil {
		t.Fatal(err)
	}
	producer, err := messaging.OpenProducer(messaging.Connection{ConnectionString: os.Getenv(doomedMessaging)}, "h", messaging.Options{Application: application})
	if err != nil {
		t.Fatal(err)
	}
	container := containerOf(t, os.Getenv(doomedCosmos), application)
	for _, line := range script {
		words := append(strings.Fields(line), "")
		err := work(t.Context(), sender, producer, container, words[0], words[1], words[2])
		if err != nil && !failure.Is(err, failure.Conflict) && !failure.Is(err, failure.Transient) {
			t.Fatalf("%s: %v", line, err)
		}
		fmt.Println("acknowledged")
	}
	if err := errors.Join(sender.Close(t.Context()), producer.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
}

func work(ctx context.Context, sender *messaging.Sender, producer *messaging.Producer, container *cosmosdb.Container, what, id, state string) error {
	item := fmt.Appendf(nil, `{"id":%q,"state":%q}`, id, state)
	switch what {
	case "send":
		return sender.Send(ctx, engine.Queued{Queue: "q", MessageID: id, Body: []byte(id)})
	case "batch":
		var batch []engine.Queued
		for n := range int(id[0] - '0') {
			batch = append(batch, engine.Queued{Queue: "q", MessageID: fmt.Sprint(id, "/", n), Body: []byte(id)})
		}
		return sender.Send(ctx, batch...)
	case "put":
		return producer.Send(ctx, "0", []ingest.Event{{TransactionID: "k", Body: []byte(id)}})
	case "create":
		_, err := container.Create(ctx, id, id, item)
		return err
	case "read":
		_, _, err := container.Read(ctx, id, id)
		return err
	}
	_, etag, err := container.Read(ctx, id, id)
	if err == nil {
		_, err = container.Replace(ctx, id, id, item, etag)
	}
	return err
}
