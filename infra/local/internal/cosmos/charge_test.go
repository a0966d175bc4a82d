package cosmos

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Ensure that operations cost what the table in docs/capacity.md says.
func TestChargesAreThoseOfTheCapacityPage(t *testing.T) {
	charged := func(w *httptest.ResponseRecorder) float64 {
		units, err := strconv.ParseFloat(w.Header().Get("x-ms-request-charge"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return units
	}
	// costs gives what operations on an item of that size, which has some of two
	// indexed paths, cost.
	costs := func(kilobytes, paths int) map[string]float64 {
		f := newFixture(t, indexedByZone)
		text := `{"id":"a","pk":"p"` + []string{"", `,"n":1`, `,"n":1,"sub":{"s":"x"}`}[paths] + `,"filler":""`
		size := f.create(text + "}").Body.Len()
		text = strings.Replace(text, `"filler":"`, `"filler":"`+strings.Repeat("x", kilobytes<<10-size), 1) + "}"
		f.want(f.item("DELETE", "a", ""), http.StatusNoContent)
		created := f.create(text)
		if n := created.Body.Len(); n != kilobytes<<10 {
			t.Fatalf("an item of %d bytes", n)
		}
		costs := map[string]float64{"create": charged(created)}
		costs["replace"] = charged(f.item("PUT", "a", text))
		costs["read"] = charged(f.item("GET", "a", ""))
		costs["delete"] = charged(f.item("DELETE", "a", ""))
		return costs
	}
	plain := map[string]map[string]float64{"1 KB": costs(1, 0), "4 KB": costs(4, 0), "100 KB": costs(100, 0)}
	one, two := costs(1, 1), costs(1, 2)
	table := chargeTable(t)
	for operation, cells := range table {
		for size, costs := range plain {
			if got := fmt.Sprintf("%.1f", costs[operation]); got != cells[size] {
				t.Errorf("a %s of %s costs %s, and the page says %q", operation, size, got, cells[size])
			}
		}
		more := one[operation] - plain["1 KB"][operation]
		got := fmt.Sprintf("%.1f", more)
		if more == 0 {
			got = ""
		}
		if got != cells["each indexed path more"] || two[operation]-one[operation]-more > 0.01 {
			t.Errorf("an indexed path adds %q to a %s, and the page says %q", got, operation, cells["each indexed path more"])
		}
	}
	if len(table) != len(one) {
		t.Errorf("the page has %d operations, of %d", len(table), len(one))
	}
}

// chargeTable reads the page's table: cells by operation and heading.
func chargeTable(t *testing.T) map[string]map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "capacity.md"))
	if err != nil {
		t.Fatal(err)
	}
	table := map[string]map[string]string{}
	var heads []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case len(cells) < 3:
			heads = nil
		case cells[1] == "one operation, RU":
			heads = cells
		case heads != nil && !strings.HasPrefix(cells[1], "---"):
			for operation := range strings.SplitSeq(cells[1], ", ") {
				table[operation] = map[string]string{}
				for i, head := range heads {
					table[operation][head] = cells[i]
				}
			}
		}
	}
	return table
}

// Ensure that a query costs by what it reads, not by what it gives.
func TestQueryCostsWhatItReads(t *testing.T) {
	cost := func(container, where string) float64 {
		f := newFixture(t, container)
		for i := range 50 {
			f.want(f.create(fmt.Sprintf(`{"id":"%d","pk":"p","n":%d,"filler":%q}`, i, i, strings.Repeat("x", 1000))), http.StatusCreated)
		}
		w := f.query("SELECT c.id FROM c WHERE "+where, `["p"]`)
		f.want(w, http.StatusOK)
		units, err := strconv.ParseFloat(w.Header().Get("x-ms-request-charge"), 64)
		if err != nil {
			t.Fatal(err)
		}
		return units
	}
	all, none, one := cost(plainContainer, "c.n >= 0"), cost(plainContainer, "c.n = 7"), cost(indexedByZone, "c.n = 7")
	if all != none || all < 12 || one > 3 {
		t.Errorf("all for %.2f, one by reading all for %.2f, one by an index for %.2f", all, none, one)
	}
}

// create creates an item of the partition p.
func (f *fixture) create(text string) *httptest.ResponseRecorder { return f.item("POST", "", text) }
