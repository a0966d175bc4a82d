package host

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
)

const (
	hubMany = `{%RETRY%"bindings":[{"type":"eventHubTrigger","direction":"in","name":"events","eventHubName":"requests","connection":"Hubs","consumerGroup":"relay","cardinality":"many","dataType":"string"}]}`
	hubOne  = `{"bindings":[{"type":"eventHubTrigger","direction":"in","name":"e","eventHubName":"requests","connection":"Hubs","consumerGroup":"relay"}]}`
	// 200 ms, so that takeovers don't make the tests slow.
	quickHubs = `{"eventHubs":{"loadBalancingUpdateInterval":"00:00:00.2","partitionOwnershipExpirationInterval":"00:00:05","maxEventBatchSize":10}}`
)

func hubs(partitions int) broker.Config {
	return broker.Config{Hubs: []broker.HubConfig{{Name: "requests", Partitions: partitions, ConsumerGroups: []string{"relay"}}}}
}

func manyFunction(retry string) string { return strings.Replace(hubMany, "%RETRY%", retry, 1) }

// bodiesOf reads the trigger value of cardinality many.
func bodiesOf(t *testing.T, c call) []string {
	t.Helper()
	var text string
	var out []string
	if err := json.Unmarshal(c.Data["events"], &text); err != nil {
		t.Fatalf("%s: %v", c.Data["events"], err)
	}
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// hubSpec is a host with one Event Hubs function.
func hubSpec(connection, function string, checkpoints azeventhubs.CheckpointStore, answer http.HandlerFunc) spec {
	return spec{functions: map[string]string{"Relay": function}, settings: map[string]string{"Hubs": connection}, extensions: quickHubs,
		answer: answer, change: func(c *Config) { c.Checkpoints = checkpoints }}
}

// take collects bodies until there are n.
func take(t *testing.T, calls <-chan call, n int) []string {
	t.Helper()
	var out []string
	for len(out) < n {
		out = append(out, bodiesOf(t, receive(t, calls))...)
	}
	return out
}

func TestEventHubDeliversInOrderAndGoesOnAfterItsCheckpoint(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	checkpoints := NewCosmosCheckpoints(container)
	calls := make(chan call, 100)
	answer := func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		ok(w, r)
	}
	produce(t, connection, "requests", "0", "a", "b", "c")
	f := start(t, hubSpec(connection, manyFunction(""), checkpoints, answer))
	if diff := cmp.Diff([]string{"a", "b", "c"}, take(t, calls, 3)); diff != "" {
		t.Error(diff)
	}
	produce(t, connection, "requests", "0", "d")
	c := receive(t, calls)
	if diff := cmp.Diff([]string{"d"}, bodiesOf(t, c)); diff != "" {
		t.Error(diff)
	}
	var at struct {
		IsCheckpointingAfterInvocation           bool
		EventHubName, ConsumerGroup, PartitionId string
	}
	if err := json.Unmarshal(c.Metadata["PartitionContext"], &at); err != nil {
		t.Fatal(err)
	}
	if !at.IsCheckpointingAfterInvocation || at.EventHubName != "requests" || at.ConsumerGroup != "relay" || at.PartitionId != "0" {
		t.Errorf("PartitionContext: %+v", at)
	}
	if got := string(c.Metadata["SequenceNumberArray"]); got != `"[3]"` {
		t.Errorf("SequenceNumberArray: %s", got)
	}
	checkpointed(t, checkpoints, connection, 3)
	f.stop()
	if err := f.end(t); err != nil {
		t.Fatal(err)
	}
	// A second host, under another name, goes on where the first one stopped.
	produce(t, connection, "requests", "0", "e")
	s := hubSpec(connection, manyFunction(""), checkpoints, answer)
	s.change = func(c *Config) { c.Checkpoints, c.InstanceID = checkpoints, "two" }
	start(t, s)
	if diff := cmp.Diff([]string{"e"}, take(t, calls, 1)); diff != "" {
		t.Error(diff)
	}
}

// Ensure that an app setting has the host save every third position alone, and that a
// batch says whether its position is saved after it; a next host reads the rest again.
func TestEventHubCheckpointsEveryThirdBatch(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	checkpoints := NewCosmosCheckpoints(container)
	calls := make(chan call, 100)
	s := hubSpec(connection, manyFunction(""), checkpoints, func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		ok(w, r)
	})
	s.settings["AzureFunctionsJobHost__extensions__eventHubs__batchCheckpointFrequency"] = "3"
	f := start(t, s)
	for i, body := range []string{"a", "b", "c", "d"} {
		produce(t, connection, "requests", "0", body)
		var at struct{ IsCheckpointingAfterInvocation bool }
		if err := json.Unmarshal(receive(t, calls).Metadata["PartitionContext"], &at); err != nil || at.IsCheckpointingAfterInvocation != (i == 2) {
			t.Errorf("batch %d: %+v, %v", i, at, err)
		}
	}
	checkpointed(t, checkpoints, connection, 2)
	f.stop()
	if err := f.end(t); err != nil {
		t.Fatal(err)
	}
	s.change = func(c *Config) { c.Checkpoints, c.InstanceID = checkpoints, "two" }
	start(t, s)
	if diff := cmp.Diff([]string{"d"}, take(t, calls, 1)); diff != "" {
		t.Error(diff)
	}
}

// checkpointed waits until partition 0 has a checkpoint at a sequence number.
func checkpointed(t *testing.T, s azeventhubs.CheckpointStore, connection string, sequence int64) {
	t.Helper()
	props, err := azeventhubs.ParseConnectionString(connection)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.After(2 * time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		list, err := s.ListCheckpoints(t.Context(), props.FullyQualifiedNamespace, "requests", "relay", nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 1 && *list[0].SequenceNumber == sequence {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("checkpoints: %+v, want sequence number %d", list, sequence)
		}
	}
}

func TestEventHubCheckpointsAfterFailure(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	checkpoints := NewCosmosCheckpoints(container)
	calls := make(chan call, 10)
	produce(t, connection, "requests", "0", "poison")
	f := start(t, hubSpec(connection, manyFunction(""), checkpoints, func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	take(t, calls, 1)
	f.logs.until(t, "failed for good")
	checkpointed(t, checkpoints, connection, 0)
	produce(t, connection, "requests", "0", "next")
	if diff := cmp.Diff([]string{"next"}, take(t, calls, 1)); diff != "" {
		t.Error(diff)
	}
}

func TestEventHubRetriesInMemory(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	var mu sync.Mutex
	var seen []string
	ids := map[string]bool{}
	done := make(chan struct{})
	produce(t, connection, "requests", "0", "a")
	start(t, hubSpec(connection, manyFunction(`"retry":{"strategy":"fixedDelay","maxRetryCount":-1,"delayInterval":"00:00:00.01"},`), NewCosmosCheckpoints(container),
		func(w http.ResponseWriter, r *http.Request) {
			c := readCall(r)
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(c.Metadata["RetryContext"])+string(c.Data["events"]))
			ids[c.header.Get(headerInvocation)] = true
			if len(seen) < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			ok(w, r)
			close(done)
		}))
	receive(t, done)
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 3 || !strings.HasPrefix(seen[0], `{"RetryCount":0,"MaxRetryCount":-1,"Exception":null}`) || !strings.HasPrefix(seen[2], `{"RetryCount":2,"MaxRetryCount":-1,"Exception":{"Message":`) {
		t.Errorf("attempts: %q", seen)
	}
	if len(ids) != 1 {
		t.Errorf("the attempts have %d invocation ids, want one", len(ids))
	}
	for _, s := range seen {
		if !strings.HasSuffix(s, `"[\"a\"]"`) {
			t.Errorf("an attempt with other data: %s", s)
		}
	}
}

func TestEventHubDoesNotCheckpointWhileStopping(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	checkpoints := NewCosmosCheckpoints(container)
	calls := make(chan call, 100)
	var fails atomic.Bool
	fails.Store(true)
	answer := func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		if fails.Load() {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		ok(w, r)
	}
	function := manyFunction(`"retry":{"strategy":"fixedDelay","maxRetryCount":-1,"delayInterval":"01:00:00"},`)
	produce(t, connection, "requests", "0", "a")
	f := start(t, hubSpec(connection, function, checkpoints, answer))
	take(t, calls, 1)
	f.logs.until(t, "(Failed)")
	f.stop()
	if err := f.end(t); err != nil {
		t.Fatal(err)
	}
	fails.Store(false)
	start(t, hubSpec(connection, function, checkpoints, answer))
	if diff := cmp.Diff([]string{"a"}, take(t, calls, 1)); diff != "" {
		t.Error(diff)
	}
	checkpointed(t, checkpoints, connection, 0)
}

func TestEventHubCardinalityOne(t *testing.T) {
	connection := messaging(t, hubs(1))
	container, _ := containers(t)
	calls := make(chan call, 10)
	produce(t, connection, "requests", "0", `{"id":7}`, "b")
	start(t, hubSpec(connection, hubOne, NewCosmosCheckpoints(container), func(w http.ResponseWriter, r *http.Request) {
		calls <- readCall(r)
		ok(w, r)
	}))
	for _, want := range []string{`"\"{\\\"id\\\":7}\""`, `"\"b\""`} {
		c := receive(t, calls)
		if got := string(c.Data["e"]); got != want {
			t.Errorf("data %s, want %s", got, want)
		}
	}
}

// TestInstancesShareThePartitions waits until each of two hosts is called for
// some of the partitions, with every event delivered.
func TestInstancesShareThePartitions(t *testing.T) {
	connection := messaging(t, hubs(4))
	container, _ := containers(t)
	checkpoints := NewCosmosCheckpoints(container)
	calls := [2]chan call{make(chan call, 1000), make(chan call, 1000)}
	for i, name := range []string{"one", "two"} {
		s := hubSpec(connection, manyFunction(""), checkpoints, func(w http.ResponseWriter, r *http.Request) {
			calls[i] <- readCall(r)
			ok(w, r)
		})
		s.change = func(c *Config) { c.Checkpoints, c.InstanceID = checkpoints, name }
		start(t, s)
	}
	deadline := time.After(2 * time.Minute)
	var seen [2]bool
	for round := 0; !seen[0] || !seen[1]; round++ {
		for _, partition := range []string{"0", "1", "2", "3"} {
			produce(t, connection, "requests", partition, "x")
		}
		for range 4 {
			select {
			case <-calls[0]:
				seen[0] = true
			case <-calls[1]:
				seen[1] = true
			case <-deadline:
				t.Fatalf("round %d: called are %v", round, seen)
			}
		}
	}
}
