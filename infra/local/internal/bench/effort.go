package bench

import (
	"os"
	"slices"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/meter"
)

// Effort is what one side of a comparison took in one round.
type Effort struct {
	Done int           `json:"done"` // items
	Took time.Duration `json:"tookNanoseconds"`
	CPU  time.Duration `json:"cpuNanoseconds"` // of the processes in its scope
	// Busy is the part of all cores of the machine that worked, in [0,1], and Others
	// the part that worked for none of this tool's processes.
	Busy   float64 `json:"busy"`
	Others float64 `json:"others"`
}

// Rate is how many items were done in a second.
func (e Effort) Rate() float64 { return float64(e.Done) / e.Took.Seconds() }

// PerItem is the CPU time of an item.
func (e Effort) PerItem() time.Duration { return e.CPU / time.Duration(max(1, e.Done)) }

// Comparison is a scenario beside its baseline, round by round.
type Comparison struct {
	Item  string   `json:"item"`  // what is done, such as "accepted"
	Ours  string   `json:"ours"`  // what does it
	Base  string   `json:"base"`  // what does the least of the same
	Scope string   `json:"scope"` // whose CPU time is compared
	Sides []Rounds `json:"rounds"`
}

// Rounds are the efforts of both sides in one round.
type Rounds struct {
	Ours Effort `json:"ours"`
	Base Effort `json:"base"`
}

// Throughput returns how much of the baseline's rate was reached.
func (c Comparison) Throughput() Spread {
	return c.spread(func(r Rounds) float64 { return r.Ours.Rate() / r.Base.Rate() })
}

// CPU returns how much of our CPU time for an item the baseline needs.
func (c Comparison) CPU() Spread {
	return c.spread(func(r Rounds) float64 { return r.Base.PerItem().Seconds() / r.Ours.PerItem().Seconds() })
}

func (c Comparison) spread(value func(Rounds) float64) Spread {
	var values []float64
	for _, r := range c.Sides {
		values = append(values, value(r))
	}
	return spreadOf(values)
}

// leastBusy returns the smallest part of the cores that was busy on either side,
// and the largest that was busy with something else.
func (c Comparison) leastBusy() (busy, others float64) {
	busy = 1
	for _, r := range c.Sides {
		busy = min(busy, r.Ours.Busy, r.Base.Busy)
		others = max(others, r.Ours.Others, r.Base.Others)
	}
	return busy, others
}

// Spread is the smallest, the middle and the largest of some values.
type Spread struct{ Min, Median, Max float64 }

func spreadOf(values []float64) (s Spread) {
	if len(values) == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(values))
	// The lower one of two in the middle: a mean of them was never measured.
	s.Min, s.Median, s.Max = sorted[0], sorted[(len(sorted)-1)/2], sorted[len(sorted)-1]
	return s
}

// scope are processes: all below one, or that one alone.
type scope struct {
	roots []int
	alone bool
}

// cpu returns what the processes have taken since they began.
func (s scope) cpu() (time.Duration, error) {
	var all time.Duration
	for _, pid := range s.roots {
		processes, err := meter.Tree(pid)
		if err != nil {
			return 0, err
		}
		for _, p := range processes {
			if p.PID == pid || !s.alone {
				all += p.CPU
			}
		}
	}
	return all, nil
}

// reading is what was taken up to a moment.
type reading struct {
	at       time.Time
	machine  meter.Machine
	cpu, own time.Duration // of the scope, and of this tool with all that it has started
}

func (s scope) read() (r reading, err error) {
	if r.machine, err = meter.ReadMachine(); err != nil {
		return r, err
	}
	if r.own, err = (scope{roots: []int{os.Getpid()}}).cpu(); err != nil {
		return r, err
	}
	r.cpu, err = s.cpu()
	r.at = time.Now()
	return r, err
}

// measure does something and returns what it took.
func (s scope) measure(do func() (done int, err error)) (Effort, error) {
	before, err := s.read()
	if err != nil {
		return Effort{}, err
	}
	done, err := do()
	if err != nil {
		return Effort{}, err
	}
	after, err := s.read()
	took := after.at.Sub(before.at)
	own := meter.Machine{Cores: after.machine.Cores, Busy: before.machine.Busy + after.own - before.own}
	busy := before.machine.Share(after.machine, took)
	return Effort{
		Done: done, Took: took, CPU: after.cpu - before.cpu,
		Busy: busy, Others: max(0, busy-before.machine.Share(own, took)),
	}, err
}
