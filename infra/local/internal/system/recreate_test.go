package system

import (
	"context"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/relay"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// positions are checkpoints by id.
type positions map[string]int64

func (p positions) Read(_ context.Context, id string) (relay.Checkpoint, string, error) {
	at, ok := p[id]
	if !ok {
		return relay.Checkpoint{}, "", failure.New(failure.NotFound, "read checkpoint", id, nil)
	}
	return relay.Checkpoint{ID: id, SequenceNumber: at}, "etag", nil
}

func (positions) Save(context.Context, relay.Checkpoint, string) (string, error) { panic("only read") }

// Ensure that a hub counts as handed over only if nothing in it waits for Relay.
func TestHandedOver(t *testing.T) {
	app := settings.Settings{EventHub: "hub", ConsumerGroup: "relay"}
	for name, c := range map[string]struct {
		at   positions
		ends []int64
		want bool
	}{
		"an empty hub":        {nil, []int64{0, 0}, true},
		"all of it":           {positions{"hub.relay.0": 4, "hub.relay.1": 0}, []int64{5, 1}, true},
		"all but one event":   {positions{"hub.relay.0": 4, "hub.relay.1": 0}, []int64{5, 2}, false},
		"all of the old hub":  {positions{"hub.relay.0": 99}, []int64{5}, false},
		"nothing stored":      {nil, []int64{1}, false},
		"of an empty one":     {positions{"hub.relay.0": 99}, []int64{0}, true},
		"another group's":     {positions{"hub.other.0": 4}, []int64{5}, false},
		"another partition's": {positions{"hub.relay.1": 4}, []int64{5, 0}, false},
	} {
		if got := handedOver(t.Context(), c.at, app, c.ends); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
