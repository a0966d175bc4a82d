package fault

// NewInstance returns an injector for a further instance of the app, in a
// process of its own. Under the same plan it decides otherwise than the others,
// but for what is decided by key: that is the same everywhere.
func NewInstance(name string) *Injector {
	in := New()
	in.instance = name
	return in
}

// Add adds to the counts what has happened in another instance since it last
// told. Points that are not known are passed over.
func (in *Injector) Add(counts map[Point]Count) {
	for p, c := range counts {
		if t, known := in.counts[p]; known {
			t.othersAsked.Add(c.Asked)
			t.othersHit.Add(c.Hit)
		}
	}
}

// Idle reports whether nothing is hit on the way of other work: there is no
// injector, no plan, or none with a rate for a point that is no act. It costs a
// load of one pointer.
func (in *Injector) Idle() bool {
	now := in.active()
	return now == nil || len(now.thresholds) == 0 && len(now.windows) == 0
}
