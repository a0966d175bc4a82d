package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/orders"
	orderstrial "github.com/fabrikam/drone-delivery/shared/orders/trial"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// foreign finds the words of the other business.
var foreign = regexp.MustCompile(`(?i)[a-z_-]*(?:drone|parcel|ownerid|deliver|package)[a-z_-]*`)

// known are words that look alike: Service Bus counts the deliveries of a message
// (deliveryCount, maxDeliveryCount), a notice is delivered or not, and the module
// has a name.
var known = regexp.MustCompile(`(?i)^(?:(?:max[_-]?)?delivery[_-]?count|(?:un)?delivered)$`)

// module is the repository's name, whichever business runs.
const module = "github.com/fabrikam/drone-delivery"

// left are the words that are still to go: the entities and the first operation are
// named after deliveries in every business, and the metrics after the repository.
var left = regexp.MustCompile(`^(?:deliver|deliver(?:y|ies)|DELIVERIES_QUEUE|(?:Queue|DeadLetter)Deliveries|delivery-requests|drone-delivery|drone_delivery[a-z_]*)$`)

// TestNoWordOfAnotherBusiness takes orders of every kind to their end, with calls to
// the backends that fail and payments that are answered too late, and reads all
// that comes out.
func TestNoWordOfAnotherBusiness(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs the whole system")
	}
	b := build(t)
	s := b.serve(t, "-faults", "backend,service.late=0.2,service.kill=0.05", "-profile", "chaos")
	for _, id := range s.submit(t) {
		s.follow(t, id)
	}
	out := s.documents(t)
	out["metrics"] = s.get(t, "metrics")
	out["settings"] = settings.Markdown(orders.Business())
	files, err := filepath.Glob(filepath.Join(b.app, "*", "function.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d functions, %v", len(files), err)
	}
	for _, file := range append(files, s.log) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, _ := filepath.Rel(b.dir, file)
		out[name] = name + "\n" + string(data)
	}
	for where, text := range trial.Sorted(out) {
		if text == "" {
			t.Errorf("%s is empty", where)
		}
		words := foreign.FindAllString(strings.ReplaceAll(text, module, ""), -1)
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			switch {
			case known.MatchString(word):
			case left.MatchString(word):
				t.Logf("%s still says %q", where, word)
			default:
				t.Errorf("%s says %q", where, word)
			}
		}
	}
}

// submit sends three orders of each kind, and returns the ids of the accepted ones.
func (s served) submit(t *testing.T) (ids []string) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for n := range 3 {
		for _, k := range orderstrial.Trial().Kinds {
			body, err := json.Marshal(k.Draw(trial.Draw{Random: random, Name: fmt.Sprintf("%s-%d", k.Name, n), At: time.Now()}))
			if err != nil {
				t.Fatal(err)
			}
			res, err := http.Post(s.url("orders"), "application/json", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			var accepted struct{ TransactionID string }
			err = json.NewDecoder(res.Body).Decode(&accepted)
			res.Body.Close()
			switch {
			case err != nil, k.End == "" && res.StatusCode != http.StatusBadRequest, k.End != "" && res.StatusCode != http.StatusAccepted:
				t.Fatalf("%s: %d, %v", k.Name, res.StatusCode, err)
			case k.End != "":
				ids = append(ids, accepted.TransactionID)
			}
		}
	}
	return ids
}

// follow waits for the end of an order.
func (s served) follow(t *testing.T, id string) {
	t.Helper()
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		var progress struct{ State string }
		if err := json.Unmarshal([]byte(s.get(t, "orders/"+id)), &progress); err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"Completed", "Rejected", "Compensated"}, progress.State) {
			return
		}
		select {
		case <-ticks.C:
		case <-t.Context().Done():
			t.Fatalf("%s is still %s", id, progress.State)
		}
	}
}

func (s served) url(path string) string { return "http://" + s.HTTP + "/api/" + path }

func (s served) get(t *testing.T, path string) string {
	t.Helper()
	res, err := http.Get(s.url(path))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", path, res.StatusCode, body, err)
	}
	return string(body)
}

// documents returns the documents of every container, by its name.
func (s served) documents(t *testing.T) map[string]string {
	t.Helper()
	db, err := cosmosdb.Open(cosmosdb.Connection{ConnectionString: s.CosmosDB}, cosmosdb.Options{Database: "fabrikam"})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	out := map[string]string{}
	for _, spec := range cosmosdb.Containers(orders.Business()) {
		text := "container " + spec.Name + "\n"
		q := business.Query{Text: "SELECT * FROM c"}
		for more := true; more; more = q.Continuation != "" {
			var docs [][]byte
			if docs, q.Continuation, err = db.Container(spec.Name).Page(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			text += string(bytes.Join(docs, []byte("\n")))
		}
		out[spec.Name] = text
	}
	return out
}
