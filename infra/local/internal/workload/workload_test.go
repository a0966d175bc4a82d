package workload

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestPlanIsReproducible(t *testing.T) {
	if diff := cmp.Diff(Plan(7, "run", 200, start), Plan(7, "run", 200, start)); diff != "" {
		t.Errorf("the same plan differs:\n%s", diff)
	}
	if cmp.Equal(Plan(7, "run", 200, start), Plan(8, "run", 200, start)) {
		t.Error("another seed gives the same plan")
	}
}

func TestPlanHasEveryKind(t *testing.T) {
	for _, deliveries := range []int{MinDeliveries, 100, 1000} {
		counts := map[Kind]int{}
		packages := map[string]bool{}
		for _, it := range Plan(1, "run", deliveries, start) {
			counts[it.Kind]++
			packages[it.Request.PackageInfo.PackageID] = true
		}
		total := 0
		for kind := range wanted {
			if counts[kind] == 0 {
				t.Errorf("%d deliveries: none is %s", deliveries, kind)
			}
			total += counts[kind]
		}
		if total != deliveries {
			t.Errorf("%d deliveries planned, want %d", total, deliveries)
		}
		if counts[Malformed] == 0 || len(packages) != total+counts[Malformed] {
			t.Errorf("%d deliveries: %d malformed, %d packages", deliveries, counts[Malformed], len(packages))
		}
	}
}

// ended returns the deliveries of a plan as if every one had ended as planned.
func ended(t *testing.T) []*delivery {
	t.Helper()
	var all []*delivery
	for i, it := range Plan(1, "run", 100, start) {
		d := &delivery{Item: it, sent: start}
		if it.Kind == Malformed {
			d.err = fmt.Errorf("POST: %w", &Refusal{Status: http.StatusBadRequest})
			all = append(all, d)
			continue
		}
		d.receipt = Receipt{TransactionID: fmt.Sprintf("t-%d", i), OperationID: fmt.Sprintf("o-%d", i)}
		d.last = View{State: wanted[it.Kind], EndedAt: start.Add(time.Duration(i+1) * time.Millisecond)}
		switch it.Kind {
		case Duplicate:
			again := d.receipt
			d.repeat = &again
		case Cancelled, Rescheduled:
			d.operation = Receipt{d.receipt.TransactionID, "x-" + d.receipt.OperationID}
			d.last.Operations = []Operation{{ID: d.operation.OperationID, State: "Applied"}}
		}
		all = append(all, d)
	}
	return all
}

func one(t *testing.T, all []*delivery, kind Kind) *delivery {
	t.Helper()
	for _, d := range all {
		if d.Kind == kind {
			return d
		}
	}
	t.Fatalf("no %s delivery", kind)
	return nil
}

func TestSummaryOfAGoodRun(t *testing.T) {
	s := summarize(ended(t))
	s.Quarantined = 1
	s.judgeQuarantine()
	if !s.OK() {
		t.Errorf("not OK: %v", s.Faults)
	}
	if s.Accepted != 100 || s.Refused != 1 || s.Rejected != 4 || s.Compensated != 3 || s.Cancelled != 4 || s.Rescheduled != 4 || s.Duplicates != 4 {
		t.Errorf("counts: %+v", s)
	}
	if s.P50 <= 0 || s.P99 < s.P50 {
		t.Errorf("p50 %v, p99 %v", s.P50, s.P99)
	}
	var text strings.Builder
	if err := s.WriteText(&text); err != nil || !strings.Contains(text.String(), "every one is final") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

// Ensure that each thing that can go wrong is named with its id.
func TestSummaryFindsFaults(t *testing.T) {
	cases := map[string]struct {
		kind  Kind
		spoil func(*delivery)
		want  string
	}{
		"wrong end":        {Plain, func(d *delivery) { d.last.State = "Compensated" }, "want Completed"},
		"open":             {Far, func(d *delivery) { d.last.State = "Running" }, "want Completed"},
		"not accepted":     {Plain, func(d *delivery) { d.err = errors.New("boom") }, "not accepted: boom"},
		"second delivery":  {Duplicate, func(d *delivery) { d.repeat.TransactionID = "other" }, "other ids"},
		"refused cancel":   {Cancelled, func(d *delivery) { d.last.Operations[0].State = "Refused" }, "is Refused"},
		"lost operation":   {Rescheduled, func(d *delivery) { d.last.Operations = nil }, "not in the transaction"},
		"malformed passed": {Malformed, func(d *delivery) { d.err = nil }, "instead of 400"},
		"same id twice":    {Plain, func(d *delivery) { d.receipt.TransactionID = "t-taken" }, "another delivery"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			all := ended(t)
			if c.want == "another delivery" {
				one(t, all, Far).receipt.TransactionID = "t-taken"
			}
			d := one(t, all, c.kind)
			c.spoil(d)
			s := summarize(all)
			if s.OK() || len(s.Faults) == 0 || !strings.Contains(strings.Join(s.Faults, "\n"), c.want) {
				t.Errorf("OK %v, faults %v; want one with %q", s.OK(), s.Faults, c.want)
			}
		})
	}
}

func TestSummaryMissesPoison(t *testing.T) {
	s := summarize(ended(t))
	s.judgeQuarantine()
	if s.OK() {
		t.Error("OK without the poison event in quarantine")
	}
}

func TestViewEnded(t *testing.T) {
	for _, c := range []struct {
		json, operation string
		want            bool
	}{
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "", true},
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "a", true},
		{`{"state":"Completed","operations":[{"id":"a","state":"Applied"}]}`, "b", false},
		{`{"state":"Completed","operations":[{"id":"a","state":"Pending"}]}`, "a", false},
		{`{"state":"Stuck"}`, "", false},
		{`{"state":"Cancelled"}`, "", true},
	} {
		var v View
		if err := json.Unmarshal([]byte(c.json), &v); err != nil {
			t.Fatal(err)
		}
		if v.Ended(c.operation) != c.want {
			t.Errorf("%s: ended %v", c.json, !c.want)
		}
	}
}

func TestQuantile(t *testing.T) {
	var ds []time.Duration
	for i := 100; i >= 1; i-- {
		ds = append(ds, time.Duration(i))
	}
	if p50, p95, p99 := Quantiles(ds); p50 != 50 || p95 != 95 || p99 != 99 {
		t.Errorf("p50 %d, p95 %d, p99 %d", p50, p95, p99)
	}
	if p50, _, _ := Quantiles(nil); p50 != 0 {
		t.Errorf("of none: %d", p50)
	}
}
