package queue

import "time"

// history is what duplicate detection remembers: message ids of the last
// DuplicateWindow, also of messages that are long completed.
type history struct {
	ids map[string]sighting
	// order has the ids oldest first; its first skip elements are forgotten.
	order []string
	skip  int
}

type sighting struct {
	at  int64 // ns since 1970
	seq int64
}

// leaves is when s leaves the window.
func (s sighting) leaves(window time.Duration) time.Time { return instant(s.at).Add(window) }

// remembered reports the number under which id was seen within the window.
// The queue was advanced before, so what is there is not too old.
func (q *Queue) remembered(id string) (int64, bool) {
	if q.cfg.DuplicateWindow == 0 {
		return 0, false
	}
	s, ok := q.seen.ids[id]
	return s.seq, ok
}

func (q *Queue) remember(now time.Time, id string, seq int64) {
	if q.cfg.DuplicateWindow == 0 {
		return
	}
	s := sighting{at: now.UnixNano(), seq: seq}
	q.seen.add(id, s)
	q.keepSighting(id, s)
}

func (h *history) add(id string, s sighting) {
	h.ids[id] = s
	h.order = append(h.order, id)
}

// oldest gives the id that was seen first.
func (h *history) oldest() (string, sighting, bool) {
	if h.skip == len(h.order) {
		return "", sighting{}, false
	}
	id := h.order[h.skip]
	return id, h.ids[id], true
}

// forgetOldest drops what oldest gave. The slice is moved when half of it is
// unused, so that the cost per id is constant.
func (h *history) forgetOldest() {
	delete(h.ids, h.order[h.skip])
	h.order[h.skip] = ""
	h.skip++
	if h.skip*2 >= len(h.order) {
		h.order = append(h.order[:0], h.order[h.skip:]...)
		h.skip = 0
	}
}

// forget drops the ids that left the window.
func (q *Queue) forget(now time.Time) {
	for {
		id, s, ok := q.seen.oldest()
		if !ok || now.Before(s.leaves(q.cfg.DuplicateWindow)) {
			return
		}
		q.seen.forgetOldest()
		q.dropSighting(id)
	}
}
