package amqp

// fifo is a queue that reuses its memory.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }

func (q *fifo[T]) push(v T) {
	if q.head > len(q.items)/2 && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, v)
}

// front returns the oldest item; there must be one.
func (q *fifo[T]) front() *T { return &q.items[q.head] }

// pop removes and returns the oldest item; there must be one.
func (q *fifo[T]) pop() T {
	v := q.items[q.head]
	var zero T
	q.items[q.head] = zero
	q.head++
	if q.head == len(q.items) {
		q.items, q.head = q.items[:0], 0
	}
	return v
}

// table gives out the lowest free number for each of its items.
type table[T any] struct{ items []*T }

func (t *table[T]) add(v *T) uint32 {
	for i, have := range t.items {
		if have == nil {
			t.items[i] = v
			return uint32(i)
		}
	}
	t.items = append(t.items, v)
	return uint32(len(t.items) - 1)
}

func (t *table[T]) remove(i uint32) { t.items[i] = nil }
