package host

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/broker"
)

const (
	queueOne  = `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","queueName":"q","connection":"Bus"}]}`
	queueMany = `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","queueName":"q","connection":"Bus","cardinality":"many"}]}`
	queueDead = `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","queueName":"q/$deadletterqueue","connection":"Bus"}]}`
)

func queues(c broker.QueueConfig) broker.Config {
	c.Name = "q"
	return broker.Config{Queues: []broker.QueueConfig{c}}
}

func queueSpec(connection, options string, functions map[string]string, answer http.HandlerFunc) spec {
	return spec{functions: functions, settings: map[string]string{"Bus": connection}, extensions: `{"serviceBus":{` + options + `}}`, answer: answer}
}

func TestServiceBusCompletesAndAbandons(t *testing.T) {
	connection := messaging(t, queues(broker.QueueConfig{MaxDeliveryCount: 3}))
	calls := make(chan call, 10)
	var dead atomic.Bool
	f := start(t, queueSpec(connection, "", map[string]string{"Schedule": queueOne, "Dead": queueDead}, func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		calls <- c
		if c.path == "/Schedule" && strings.Contains(string(c.Data["m"]), "poison") {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		dead.Store(c.path == "/Dead")
		ok(w, r)
	}))
	send(t, connection, "q", `{"message":"hello"}`)
	c := receive(t, calls)
	if got := string(c.Data["m"]); got != `"\"{\\\"message\\\":\\\"hello\\\"}\""` {
		t.Errorf("data: %s", got)
	}
	for name, want := range map[string]string{"DeliveryCount": `"1"`, "message": `"\"hello\""`, "SequenceNumber": `"1"`} {
		if got := string(c.Metadata[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	empty(t, connection, "q")
	send(t, connection, "q", "poison")
	for _, want := range []string{`"1"`, `"2"`, `"3"`} {
		if c := receive(t, calls); c.path != "/Schedule" || string(c.Metadata["DeliveryCount"]) != want {
			t.Errorf("%s with DeliveryCount %s, want %s", c.path, c.Metadata["DeliveryCount"], want)
		}
	}
	c = receive(t, calls)
	var props struct{ DeadLetterReason string }
	if err := json.Unmarshal(c.Metadata["ApplicationProperties"], &props); err != nil {
		t.Fatal(err)
	}
	if c.path != "/Dead" || props.DeadLetterReason != "MaxDeliveryCountExceeded" || string(c.Metadata["MessageId"]) != `"\"poison\""` {
		t.Errorf("dead letter: %s %+v %s", c.path, props, c.Metadata["MessageId"])
	}
	f.logs.until(t, "Executed 'Functions.Dead' (Succeeded)")
}

func TestServiceBusKeepsMaxConcurrentCalls(t *testing.T) {
	connection := messaging(t, queues(broker.QueueConfig{}))
	inside, leave := make(chan struct{}, 10), make(chan struct{})
	var running, most atomic.Int32
	start(t, queueSpec(connection, `"maxConcurrentCalls":2`, map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
		now := running.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		inside <- struct{}{}
		<-leave
		running.Add(-1)
		ok(w, r)
	}))
	send(t, connection, "q", "1", "2", "3", "4")
	for range 2 {
		receive(t, inside)
	}
	for range 4 {
		leave <- struct{}{}
	}
	empty(t, connection, "q")
	if got := most.Load(); got != 2 {
		t.Errorf("%d calls ran at once, want 2", got)
	}
}

func TestServiceBusRenewsLocks(t *testing.T) {
	t.Parallel()
	connection := messaging(t, queues(broker.QueueConfig{LockDuration: 600 * time.Millisecond}))
	var calls atomic.Int32
	start(t, queueSpec(connection, "", map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		select {
		case <-time.After(1500 * time.Millisecond):
		case <-r.Context().Done():
		}
		ok(w, r)
	}))
	send(t, connection, "q", "long")
	empty(t, connection, "q")
	if got := calls.Load(); got != 1 {
		t.Errorf("called %d times, want once", got)
	}
}

func TestServiceBusRenewsForALimitedTime(t *testing.T) {
	t.Parallel()
	connection := messaging(t, queues(broker.QueueConfig{LockDuration: 300 * time.Millisecond}))
	calls := make(chan call, 10)
	s := queueSpec(connection, `"maxAutoLockRenewalDuration":"00:00:00.4"`, map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		calls <- c
		if string(c.Metadata["DeliveryCount"]) == `"1"` {
			<-r.Context().Done()
		}
		ok(w, r)
	})
	s.change = func(c *Config) { c.ShutdownTimeout = 10 * time.Millisecond } // the first call never ends
	start(t, s)
	send(t, connection, "q", "long")
	for _, want := range []string{`"1"`, `"2"`} {
		if c := receive(t, calls); string(c.Metadata["DeliveryCount"]) != want {
			t.Errorf("DeliveryCount is %s, want %s", c.Metadata["DeliveryCount"], want)
		}
	}
}

func TestServiceBusBatchIsAllOrNothing(t *testing.T) {
	connection := messaging(t, queues(broker.QueueConfig{}))
	send(t, connection, "q", "a", "b", "c")
	var mu sync.Mutex
	running, first := 0, true
	counts := make(chan string, 10)
	start(t, queueSpec(connection, `"minMessageBatchSize":3,"maxBatchWaitTime":"00:00:05"`, map[string]string{"S": queueMany}, func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		mu.Lock()
		running++
		if running > 1 {
			t.Error("two batches at once")
		}
		fail := first
		first = false
		mu.Unlock()
		counts <- string(c.Data["m"]) + string(c.Metadata["DeliveryCountArray"])
		mu.Lock()
		running--
		mu.Unlock()
		if fail {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		ok(w, r)
	}))
	for _, want := range []string{`"[1,1,1]"`, `"[2,2,2]"`} {
		if got := receive(t, counts); !strings.HasSuffix(got, want) || !strings.Contains(got, `\"a\"`) || !strings.Contains(got, `\"c\"`) {
			t.Errorf("batch %s, want delivery counts %s", got, want)
		}
	}
	empty(t, connection, "q")
}

// TestKilledHandlerAbandonsItsMessages kills the handler in the middle of a
// call and waits for the message to come again.
func TestKilledHandlerAbandonsItsMessages(t *testing.T) {
	connection := messaging(t, queues(broker.QueueConfig{}))
	calls := make(chan call, 10)
	f := start(t, queueSpec(connection, "", map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
		c := readCall(r)
		calls <- c
		if string(c.Metadata["DeliveryCount"]) == `"1"` {
			<-r.Context().Done()
		}
		ok(w, r)
	}))
	send(t, connection, "q", "x")
	receive(t, calls)
	p, err := os.FindProcess(f.HandlerPID())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	// Deliveries that meet the port before the host has noticed the exit count,
	// too, as with the real host.
	if c := receive(t, calls); string(c.Metadata["DeliveryCount"]) == `"1"` {
		t.Errorf("DeliveryCount is %s after the handler was killed", c.Metadata["DeliveryCount"])
	}
	empty(t, connection, "q")
}

// TestStopGivesRunningCallsTheirTime stops the host while a call runs; the
// call ends well and its message is completed.
func TestStopGivesRunningCallsTheirTime(t *testing.T) {
	connection := messaging(t, queues(broker.QueueConfig{}))
	inside, leave := make(chan struct{}), make(chan struct{})
	f := start(t, queueSpec(connection, "", map[string]string{"S": queueOne}, func(w http.ResponseWriter, r *http.Request) {
		inside <- struct{}{}
		<-leave
		ok(w, r)
	}))
	send(t, connection, "q", "x")
	receive(t, inside)
	f.stop()
	leave <- struct{}{}
	if err := f.end(t); err != nil {
		t.Errorf("Run: %v", err)
	}
	empty(t, connection, "q")
}

func TestMissingQueueIsReportedAndTriedAgain(t *testing.T) {
	connection := messaging(t, broker.Config{Queues: []broker.QueueConfig{{Name: "other"}}})
	f := start(t, queueSpec(connection, "", map[string]string{"S": queueOne}, ok))
	f.logs.until(t, "The listener for function 'Functions.S' stopped and starts again")
}
