package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/fabrikam/drone-delivery/infra/local/internal/tail"
)

// stuck is a reader's output that takes nothing until it may.
type stuck struct {
	may  chan struct{}
	once sync.Once
	full chan struct{} // closed when something waits
	w    io.Writer
}

func (s *stuck) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.full) })
	<-s.may
	return s.w.Write(p)
}

// hostState returns what the host keeps of its partitions, by consumer group: their
// owners, and how far they are.
func (s *served) hostState() map[string]map[string]string {
	s.t.Helper()
	client, err := azcosmos.NewClientFromConnectionString(s.system.Endpoints().CosmosDB, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	container, err := client.NewContainer("runtime", "checkpoints")
	if err != nil {
		s.t.Fatal(err)
	}
	state := map[string]map[string]string{}
	pages := container.NewQueryItemsPager("SELECT * FROM c", azcosmos.NewPartitionKey(), nil)
	for pages.More() {
		page, err := pages.NextPage(s.t.Context())
		if err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			var kept struct {
				Scope, Kind, Partition, Owner string
				SequenceNumber                int64
			}
			if err := json.Unmarshal(item, &kept); err != nil {
				s.t.Fatal(err)
			}
			if state[kept.Scope] == nil {
				state[kept.Scope] = map[string]string{}
			}
			state[kept.Scope][kept.Kind+" "+kept.Partition] = fmt.Sprint(kept.Owner, kept.SequenceNumber)
		}
	}
	return state
}

// complete puts requests and waits until each has ended.
func (s *served) complete(prefix string, n int) (ids []string) {
	s.t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s-%d", prefix, i)
		req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPut, s.url+"/api/deliveryrequests/"+id, strings.NewReader(string(s.request(1, id))))
		if err != nil {
			s.t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			s.t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusAccepted {
			s.t.Fatalf("put %s: %d", id, resp.StatusCode)
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		s.await([]string{"transaction " + id + " is Completed"}, "show", id)
	}
	return ids
}

// toldOf returns the transactions of lines of JSON.
func toldOf(t *testing.T, text string) map[string]tail.Line {
	t.Helper()
	told := map[string]tail.Line{}
	for line := range strings.Lines(text) {
		var l tail.Line
		if err := json.Unmarshal([]byte(line), &l); err != nil || l.Envelope == nil {
			t.Fatalf("line %s: %v", line, err)
		}
		if _, twice := told[l.TransactionID]; twice {
			t.Errorf("%s was told twice", l.TransactionID)
		}
		told[l.TransactionID] = l
	}
	return told
}

// Ensure that a second reader is told of every accepted request, and that the first
// one goes on at its pace and from its place while the second one stands.
func TestOpsTail(t *testing.T) {
	s := serveForOps(t, 1)
	endpoints, err := json.Marshal(s.system.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(inProject(t), endpoints, 0o600); err != nil {
		t.Fatal(err)
	}
	first := s.complete("before", 3)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out strings.Builder
	standing := &stuck{may: make(chan struct{}), full: make(chan struct{}), w: &out}
	lines := make(chan int, 20)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, console{args: []string{"ops", "tail", "-follow"}, out: counted{standing, lines}, errOut: io.Discard})
	}()
	<-standing.full
	owners := s.hostState()
	all := append(first, s.complete("meanwhile", 6)...) // none waits for the reader that stands
	close(standing.may)
	for range all {
		<-lines
	}
	stop()
	if exit := <-ended; exit != exitOK {
		t.Errorf("exit %d", exit)
	}
	for _, told := range []string{out.String(), s.tail(exitOK)} {
		lines := toldOf(t, told)
		for _, id := range all {
			if l := lines[id]; l.Operation != "start" || l.AcceptedAt.IsZero() || l.EnqueuedAt.IsZero() || !strings.Contains(string(l.Body), "package-"+id) {
				t.Errorf("%s: %+v", id, l)
			}
		}
		if len(lines) != len(all) {
			t.Errorf("told of %d, want %d", len(lines), len(all))
		}
	}
	now := s.hostState()
	if len(now) != 1 {
		t.Errorf("positions are kept for more than the trigger: %v", now)
	}
	for group, state := range owners {
		for what, owner := range state {
			if strings.HasPrefix(what, "ownership") && now[group][what] != owner {
				t.Errorf("%s: %s had %s, has %s", group, what, owner, now[group][what])
			}
		}
	}
	if out := s.tail(exitOK, "-since", "0s"); out != "" {
		t.Errorf("nothing has come since: %s", out)
	}
	if out := s.tail(exitError, "-group", "nobody"); !strings.Contains(out, "nobody") {
		t.Errorf("an unknown group: %s", out)
	}
	if out := s.tail(exitUsage, "-since", "-1s"); !strings.Contains(out, "use 0s and more") {
		t.Errorf("-since: %s", out)
	}
}

// tail carries out ops tail in the project that is the working folder.
func (s *served) tail(exit int, args ...string) string {
	s.t.Helper()
	got, out, errOut := opsRun(s.t, append([]string{"tail"}, args...)...)
	if got != exit {
		s.t.Fatalf("ops tail %q: exit %d, want %d\n%s%s", args, got, exit, out, errOut)
	}
	return out + errOut
}

// counted tells of each line that was written.
type counted struct {
	io.Writer
	lines chan<- int
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.lines <- n
	return n, err
}
