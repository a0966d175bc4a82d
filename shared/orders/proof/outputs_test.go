package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/messaging"
	"github.com/fabrikam/drone-delivery/shared/orders"
	orderstrial "github.com/fabrikam/drone-delivery/shared/orders/trial"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// takeOrders serves the app, takes orders to their ends, and returns what reads
// each of the outputs.
func takeOrders(t *testing.T) map[string]func(*testing.T) string {
	var events, answers lines
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.Write(&events) // a part of it is no event that the test waits for
	}))
	t.Cleanup(receiver.Close)
	t.Setenv("NOTIFY_URL", receiver.URL)
	t.Setenv("NOTIFY_SIGNING_KEY", "whsk_AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=")
	t.Setenv("LOG_LEVEL", "debug")
	b := build(t, "shared/orders/overlay/overlay.json")
	app, spans := filepath.Join(b.dir, "app"), filepath.Join(b.dir, "spans.jsonl")
	b.must(t, b.path, "stage", "-out", app)
	// A refused undo would leave an order Stuck, which is no end.
	s := b.serve(t, app, "-faults", "backend,backend.undorefused=0,service.late=0.2,service.kill=0.05", "-profile", "chaos", "-trace", spans)
	client{t, s, &answers}.everything()

	read := map[string]func(*testing.T) string{
		"settings":  settingsOfOrders,
		"functions": func(t *testing.T) string { return files(t, filepath.Join(app, "*", "function.json")) },
		"metrics": func(t *testing.T) string {
			_, text := client{t, s, &answers}.ask(http.MethodGet, "metrics", nil)
			return text
		},
		"tool":    func(*testing.T) string { return s.output.String() },
		"log":     func(t *testing.T) string { return files(t, s.log) },
		"spans":   func(t *testing.T) string { return files(t, spans) },
		"events":  func(*testing.T) string { return events.String() },
		"answers": func(*testing.T) string { return answers.String() },
	}
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.CosmosDB}, cosmosdb.Options{Database: "fabrikam"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	for _, spec := range cosmosdb.Containers(orders.Business()) {
		read["container "+spec.Name] = func(t *testing.T) string { return documents(t, db.Container(spec.Name)) }
	}
	return read
}

// settingsOfOrders returns what people read of the settings, their rules and the
// functions.
func settingsOfOrders(t *testing.T) string {
	environment := map[string]string{
		"FUNCTIONS_CUSTOMHANDLER_PORT": "4001", "WEBSITE_HOSTNAME": "localhost:7071", "AzureFunctionsJobHost__functions__0": "Live",
	}
	s, err := settings.Load(orders.Business(), func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	text := settings.FunctionNames(orders.Business())
	for _, v := range settings.Variables(orders.Business()) {
		text = append(text, v.Name, v.Default, v.Allowed, v.Meaning)
	}
	for _, rule := range s.Rules(orders.Business()) {
		text = append(text, rule.Text)
	}
	return strings.Join(text, "\n")
}

// files returns the names and contents of files.
func files(t *testing.T, pattern string) string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s\n%s\n", filepath.Base(filepath.Dir(path)), content)
	}
	return out.String()
}

// documents returns the documents of a container.
func documents(t *testing.T, c business.Documents) string {
	t.Helper()
	var out []byte
	q := business.Query{Text: "SELECT * FROM c"}
	for more := true; more; more = q.Continuation != "" {
		docs, next, err := c.Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		out, q.Continuation = append(out, bytes.Join(docs, []byte("\n"))...), next
	}
	return string(out)
}

// client asks the served app, and keeps what it is answered.
type client struct {
	t       *testing.T
	s       served
	answers *lines
}

// everything does what clients and operators do, and waits for the ends.
func (c client) everything() {
	c.t.Helper()
	for _, call := range orderstrial.Trial().Before {
		c.ask(call.Method, call.Path, call.Body)
	}
	sender, err := messaging.OpenSender(messaging.Connection{ConnectionString: c.s.ServiceBus}, messaging.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer sender.Close(c.t.Context())
	if err := sender.Send(c.t.Context(), engine.Queued{Queue: "transactions", MessageID: "m-1", Body: []byte("rubbish")}); err != nil {
		c.t.Fatal(err)
	}
	ids := c.submit()
	c.ask(http.MethodPatch, "orders/"+ids[0], map[string]int{"quantity": 3})
	c.ask(http.MethodDelete, "orders/"+ids[1], nil)
	c.ask(http.MethodDelete, "orders/"+ids[1]+"/operations", nil)
	c.ask(http.MethodPut, "orders/o-1", c.draw(orderstrial.Trial().Kinds[0], "again"))
	c.ask(http.MethodGet, "orders/unknown", nil)
	for _, id := range append(ids, "o-1") {
		eventually(c.t, id+" does not end", func() bool {
			status, answer := c.ask(http.MethodGet, "orders/"+id, nil)
			var progress struct{ State string }
			if err := json.Unmarshal([]byte(answer), &progress); err != nil || status != http.StatusOK {
				c.t.Fatalf("%s: %d %s", id, status, answer)
			}
			return slices.Contains([]string{"Completed", "Rejected", "Compensated", "Cancelled"}, progress.State)
		})
	}
	for _, path := range []string{"transactions", "transactions/" + ids[0], "quarantine"} {
		c.ask(http.MethodGet, "operations/"+path, nil)
	}
	for _, path := range []string{"live", "ready"} {
		c.ask(http.MethodGet, path, nil)
	}
}

// submit sends three orders of each kind, and returns the ids of the accepted ones.
func (c client) submit() (ids []string) {
	c.t.Helper()
	for n := range 3 {
		for _, k := range orderstrial.Trial().Kinds {
			status, answer := c.ask(http.MethodPost, "orders", c.draw(k, fmt.Sprintf("%s-%d", k.Name, n)))
			var accepted struct{ TransactionID string }
			err := json.Unmarshal([]byte(answer), &accepted)
			switch {
			case err != nil, k.End == "" && status != http.StatusBadRequest, k.End != "" && status != http.StatusAccepted:
				c.t.Fatalf("%s: %d %s, %v", k.Name, status, answer, err)
			case k.End != "":
				ids = append(ids, accepted.TransactionID)
			}
		}
	}
	return ids
}

func (c client) draw(k trial.Kind, name string) any {
	return k.Draw(trial.Draw{Random: rand.New(rand.NewPCG(1, uint64(len(name)))), Name: name, At: time.Now()})
}

// ask returns the status and the body of an answer.
func (c client) ask(method, path string, body any) (int, string) {
	c.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(c.t.Context(), method, "http://"+c.s.HTTP+"/api/"+path, bytes.NewReader(data))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if path != "metrics" {
		fmt.Fprintf(c.answers, "%s %s: %d %v\n%s\n", method, path, res.StatusCode, res.Header, answer)
	}
	return res.StatusCode, string(answer)
}

// eventually waits until something is so, as long as the test has time.
func eventually(t *testing.T, otherwise string, is func() bool) {
	t.Helper()
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	end := time.NewTimer(2 * time.Minute)
	defer end.Stop()
	for !is() {
		select {
		case <-ticks.C:
		case <-end.C:
			t.Fatal(otherwise)
		case <-t.Context().Done():
			t.Fatal(otherwise)
		}
	}
}
