package amqp

import (
	"math"
	"slices"
	"testing"
)

// Ensure a range has both its ends, goes over the largest id, and is visited in
// order, whether it is counted through or looked up.
func TestInRange(t *testing.T) {
	t.Parallel()
	deliveries := map[uint32]bool{math.MaxUint32: true, 0: true, 1: true, 5: true}
	for _, c := range []struct {
		first, last uint32
		want        []uint32
	}{
		{0, 1, []uint32{0, 1}},
		{1, 5, []uint32{1, 5}},
		{5, 5, []uint32{5}},
		{2, 4, nil},
		{math.MaxUint32, 1, []uint32{math.MaxUint32, 0, 1}},
		{math.MaxUint32, 1 << 30, []uint32{math.MaxUint32, 0, 1, 5}},
	} {
		var got []uint32
		inRange(deliveries, c.first, c.last, func(id uint32, _ bool) { got = append(got, id) })
		if !slices.Equal(got, c.want) {
			t.Errorf("from %d to %d: %v, want %v", c.first, c.last, got, c.want)
		}
	}
}
