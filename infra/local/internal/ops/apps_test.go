package ops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/shard"
)

// fleet serves a front, and apps of its further shards, each of which tells stories of the ids
// in its list alone. Shard 3's is gone.
func fleet(t *testing.T) *Apps {
	t.Helper()
	stories := func(own ...string) *httptest.Server {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if id, ok := strings.CutPrefix(r.URL.Path, "/api/operations/transactions/"); ok && slices.Contains(own, id) {
				fmt.Fprintf(w, `{"transaction":{"id":%q},"next":[{"what":"%s"}]}`, id, own[0])
				return
			} else if id == "chosen" {
				p := *problem.New(problem.NotFound, "in shard 2")
				p.Extensions = map[string]any{operate.ShardMember: 2}
				problem.Write(w, r, p)
				return
			}
			problem.Write(w, r, *problem.New(problem.NotFound, ""))
		}))
		t.Cleanup(s.Close)
		return s
	}
	gone := stories()
	gone.Close()
	m := shard.Alone(shard.Endpoints{Hub: "requests", Database: "fabrikam"})
	for _, app := range []string{stories("second", "chosen", minted(t, 2)).URL, gone.URL, ""} {
		m.Shards = append(m.Shards, shard.Shard{Number: shard.Number(len(m.Shards) + 1), Name: "b", Endpoints: shard.Endpoints{App: app}, State: shard.Closed})
	}
	first := stories("first", minted(t, 1))
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/operations/shards" {
			if err := json.NewEncoder(w).Encode(operate.ShardsView{Map: m}); err != nil {
				t.Error(err)
			}
			return
		}
		first.Config.Handler.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return appsAt(t, front.URL)
}

func appsAt(t *testing.T, url string) *Apps {
	t.Helper()
	c, err := NewClient(url, Secret{})
	if err != nil {
		t.Fatal(err)
	}
	a := NewApps(c, Secret{})
	t.Cleanup(a.Close)
	return a
}

// minted returns an id that says its shard: the same for the same shard.
func minted(t *testing.T, n shard.Number) string {
	t.Helper()
	keys, err := shard.ParseIDKeys("1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
	if err != nil {
		t.Fatal(err)
	}
	id, err := shard.NewMinter(keys, noon.UTC, strings.NewReader(strings.Repeat("x", 9))).New(shard.TransactionIDs, "", n)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Ensure that a transaction is asked for where its id says, or where the front says, and that
// nobody else is asked.
func TestWhere(t *testing.T) {
	a := fleet(t)
	for id, want := range map[string]string{
		minted(t, 1): "first", minted(t, 2): "second", "chosen": "second", "first": "first",
		minted(t, 3): "nothing is running", minted(t, 4): "set it with shards app", minted(t, 9): "404", "nobody's": "404",
	} {
		s, err := Where(t.Context(), a, id, func(at *Client) (operate.Story, error) { return at.Story(t.Context(), id) })
		if err == nil && s.Next[0].What != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", id, s, err, want)
		}
	}
}

// Ensure that lists of all shards are one, and that what is missing is named.
func TestEach(t *testing.T) {
	a := fleet(t)
	ask := func(_ context.Context, c *Client) ([]string, error) {
		if err := c.get(t.Context(), &operate.Story{}, nil, "transactions", "second"); errors.Is(err, ErrNotServed) {
			return nil, err
		} else if err == nil {
			return []string{"b", "c"}, nil
		}
		return []string{"a"}, nil
	}
	list, err := Each(t.Context(), a, 0, ask)
	if want := []Of[string]{{1, "a"}, {2, "b"}, {2, "c"}}; !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
	if text := fmt.Sprint(err); !strings.HasPrefix(text, "shard 3 (b) is missing from this list: nothing is running") || strings.Contains(text, "shard 4") {
		t.Errorf("%v", err)
	}
	list, err = Each(t.Context(), a, 2, ask)
	if want := []Of[string]{{2, "b"}, {2, "c"}}; !slices.Equal(list, want) || err != nil {
		t.Errorf("%v, %v", list, err)
	}
	if list, err = Each(t.Context(), a, 3, ask); list != nil || !errors.Is(err, ErrNotServed) {
		t.Errorf("%v, %v", list, err)
	}
	if list, err = Each(t.Context(), a, 7, ask); list != nil || err == nil || err.Error() != "there is no shard 7" {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := a.At(t.Context(), 0); !errors.Is(err, ErrWhichShard) {
		t.Errorf("%v", err)
	}
}

// Ensure that with one shard, and with an app that knows of none, there is no word of shards.
func TestOneShard(t *testing.T) {
	for what, answer := range map[string]http.HandlerFunc{
		"one":   func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"map":{"shards":[{"number":1}]}}`) },
		"older": http.NotFound,
	} {
		server := httptest.NewServer(answer)
		defer server.Close()
		a := appsAt(t, server.URL)
		list, err := Each(t.Context(), a, 0, func(_ context.Context, at *Client) ([]*Client, error) { return []*Client{at}, nil })
		if err != nil || len(list) != 1 || list[0] != (Of[*Client]{0, a.Front}) {
			t.Errorf("%s: %v, %v", what, list, err)
		}
		if at, err := a.At(t.Context(), 0); at != a.Front || err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestSharded(t *testing.T) {
	type thing struct {
		ID string `json:"id"`
	}
	row := func(one thing) []string { return []string{one.ID} }
	for shards, want := range map[shard.Number]string{
		0: `[[ID] [x]] {"id":"x"}`,
		2: `[[SHARD ID] [2 x]] {"shard":2,"id":"x"}`,
	} {
		list := of(shards, []thing{{"x"}})
		text, err := json.Marshal(list[0])
		if got := fmt.Sprintf("%v %s", sharded([]string{"ID"}, list, row), text); got != want || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	}
}
