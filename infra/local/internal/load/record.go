package load

import (
	"slices"
	"sync"
	"time"
)

// record is what a run has seen so far. It is safe for concurrent use.
type record struct {
	begun                  time.Time
	keepIDs                bool
	latency, refusal, late *latencies

	mu      sync.Mutex
	all     Result
	seconds []second
	done    bool // all requests are answered
}

// second is what is known of one second.
type second struct {
	Point
	latency *latencies // nil once its sum is in the point
}

// settled is after how many seconds the latencies of one are summed up, since each
// distribution takes memory: no request takes longer than requestTimeout.
const settled = int(2 * requestTimeout / time.Second)

func newRecord(keepIDs bool) *record {
	return &record{begun: time.Now(), keepIDs: keepIDs, latency: newLatencies(), refusal: newLatencies(), late: newLatencies()}
}

// at returns the second in which something was due. The caller has the lock.
func (r *record) at(due time.Duration) *second {
	return r.second(int(due / time.Second))
}

func (r *record) second(n int) *second {
	for len(r.seconds) <= n {
		r.seconds = append(r.seconds, second{Point: Point{Second: len(r.seconds)}, latency: newLatencies()})
	}
	return &r.seconds[n]
}

// sent counts a request that is sent so long after it was due.
func (r *record) sent(due, late time.Duration) {
	r.late.record(late)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Offered++
	r.at(due).Offered++
}

// count counts an answer that came so long after the request was due.
func (r *record) count(due, took time.Duration, a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.at(due)
	switch a.Outcome {
	case Accepted:
		r.all.Accepted++
		s.Accepted++
		if s.latency != nil {
			s.latency.record(took)
		}
		r.latency.record(took)
		if r.keepIDs {
			r.all.IDs = append(r.all.IDs, a.ID)
		}
	case Refused:
		r.all.Refused++
		s.Refused++
		r.refusal.record(took)
	default:
		r.all.Failed++
		s.Failed++
		if r.all.Failure == "" && a.Err != nil {
			r.all.Failure = a.Err.Error()
		}
	}
}

// ended notes the state at the end of a second, and returns the second.
func (r *record) ended(n int, s State) Point {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.second(n).State = s
	if old := n - settled; old >= 0 {
		r.seconds[old].Point = r.point(old)
		r.seconds[old].latency = nil
	}
	return r.point(n)
}

// point returns a second as it is now. The caller has the lock.
func (r *record) point(n int) Point {
	p := r.seconds[n].Point
	if l := r.seconds[n].latency; l != nil {
		p.Latency = l.sum()
	}
	return p
}

// answered notes that all requests are answered.
func (r *record) answered(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Took, r.done = took, true
}

// over returns how long it took to answer all requests, if all are.
func (r *record) over() (took time.Duration, all bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Took, r.done
}

func (r *record) result() *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	all.Latency, all.Refusal, all.Late = r.latency.sum(), r.refusal.sum(), r.late.sum()
	all.IDs = slices.Clone(r.all.IDs)
	for n := range r.seconds {
		all.Points = append(all.Points, r.point(n))
	}
	return &all
}
