package operate_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

func TestDrop(t *testing.T) {
	w := newWorld(t)
	before := w.keep([]byte("rubbish"))
	w.Clock.Advance(moment)
	drop := func(a operate.Actor) (operate.EntryActed, error) {
		return w.operate.Drop(t.Context(), before.Source, before.ID, a)
	}
	acted, err := drop(ada)
	if err != nil || acted.Entry.State != quarantine.Dropped || acted.Repeated || acted.Result == "" || acted.Entry.Body != "" {
		t.Fatalf("%+v, %v", acted, err)
	}
	e, err := w.operate.Entry(t.Context(), before.Source, before.ID)
	if err != nil || e.Body != "rubbish" || e.State != quarantine.Dropped {
		t.Errorf("it is not readable any more: %+v, %v", e, err)
	}
	want := []quarantine.Act{{At: w.Clock.Now(), Act: quarantine.ActDrop, By: ada.By, Why: ada.Why, Result: acted.Result}}
	if diff := cmp.Diff(want, e.Acts); diff != "" {
		t.Errorf("acts (-want +got):\n%s", diff)
	}
	w.Clock.Advance(moment)
	if acted, err := drop(ada); err != nil || !acted.Repeated || len(acted.Entry.Acts) != 1 {
		t.Errorf("again: %+v, %v", acted, err)
	}
	var refused *operate.RefusedError
	if _, err := drop(operate.Actor{By: "bob", Why: ada.Why}); !errors.As(err, &refused) || refused.State != "Dropped" {
		t.Errorf("by another: %v", err)
	}
}

func TestDropSurvivesLostAnswers(t *testing.T) {
	for _, fate := range []workflowtest.Fate{workflowtest.Refuse, workflowtest.Lose} {
		w := newWorld(t)
		e := w.keep([]byte("rubbish"))
		struck := w.at("replace entry "+e.ID, 1, fate)
		acted, err := w.operate.Drop(t.Context(), e.Source, e.ID, ada)
		if !*struck || err != nil || acted.Repeated || len(w.entry().Acts) != 1 || w.entry().State != quarantine.Dropped {
			t.Errorf("fate %d: %+v, %v, entry %+v", fate, acted, err, w.entry())
		}
	}
}

func TestDropOfWhatWasRedrivenIsRefused(t *testing.T) {
	w := newWorld(t)
	w.running()
	e := w.keepMessage(engine.Envelope{TransactionID: "t", Wake: 1})
	w.mustRedrive("was sent")
	var refused *operate.RefusedError
	if _, err := w.operate.Drop(t.Context(), e.Source, e.ID, ada); !errors.As(err, &refused) || refused.State != "Redriven" {
		t.Errorf("got %v", err)
	}
}

func TestEntriesOfNobody(t *testing.T) {
	w := newWorld(t)
	for source, id := range map[string]string{"transactions": "transactions.1", "a b": "a b.1", "..": "../x"} {
		_, err := w.operate.Entry(t.Context(), source, id)
		_, dropErr := w.operate.Drop(t.Context(), source, id, ada)
		_, redriveErr := w.operate.Redrive(t.Context(), source, id, ada)
		for _, err := range []error{err, dropErr, redriveErr} {
			if !failure.Is(err, failure.NotFound) {
				t.Errorf("%s: %v, want not found", id, err)
			}
		}
		if asked := slices.Contains(w.Gate.Effects(), "read entry "+id+" #1"); asked != (source == "transactions") {
			t.Errorf("%s: was the store asked? %v", id, asked)
		}
	}
}

func TestEntries(t *testing.T) {
	w := newWorld(t)
	e := w.keep([]byte("rubbish"))
	e.Body, e.Properties = "", nil
	for filter, want := range map[quarantine.Filter][]quarantine.Entry{
		{}: {e}, {Source: e.Source, Reason: e.Reason, State: quarantine.Kept}: {e}, {Reason: "other"}: nil,
	} {
		var got []quarantine.Entry
		for next := ""; ; {
			page, after, err := w.operate.Entries(t.Context(), filter, next)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, page...)
			if next = after; next == "" {
				break
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", filter, diff)
		}
	}
	if _, _, err := w.operate.Entries(t.Context(), quarantine.Filter{}, "of nobody"); !failure.Is(err, failure.Invalid) {
		t.Errorf("%v, want invalid", err)
	}
}
