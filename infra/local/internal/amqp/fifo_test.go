package amqp

import "testing"

func TestFIFO(t *testing.T) {
	t.Parallel()
	var q fifo[int]
	pushed, popped := 0, 0
	for round := range 200 {
		for range round % 7 {
			q.push(pushed)
			pushed++
		}
		for range round % 5 {
			if q.len() == 0 {
				break
			}
			if *q.front() != popped {
				t.Fatalf("front %d, want %d", *q.front(), popped)
			}
			if got := q.pop(); got != popped {
				t.Fatalf("got %d, want %d", got, popped)
			}
			popped++
		}
		if q.len() != pushed-popped {
			t.Fatalf("%d items, want %d", q.len(), pushed-popped)
		}
	}
}

func TestTableGivesTheLowestNumber(t *testing.T) {
	t.Parallel()
	var numbers table[int]
	for want := range uint32(3) {
		if got := numbers.add(new(int)); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
	numbers.remove(1)
	if got := numbers.add(new(int)); got != 1 {
		t.Errorf("got %d, want the freed 1", got)
	}
	if got := numbers.add(new(int)); got != 3 {
		t.Errorf("got %d, want 3", got)
	}
}
