package cosmos

import "strings"

// resolve puts names in the place of resource ids. The service takes both, a
// link by ids as the _self of a resource has it; .NET's SDK reads what it knows
// by its id so. What such a link is signed with is the last id alone, in lower
// case (Microsoft Learn, "Access control on Azure Cosmos DB resources"). An id
// that nothing has stays, and is not found.
func (s *Server) resolve(t *target) {
	if len(t.ids) == 0 || !strings.HasPrefix(t.pattern, "dbs/*") {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.databases[t.ids[0]] != nil {
		return // a name
	}
	for _, d := range s.databases {
		if d.rid() == t.ids[0] {
			t.link = strings.ToLower(t.ids[len(t.ids)-1])
			t.ids[0] = d.id
			d.resolve(t)
			return
		}
	}
}

func (d *database) resolve(t *target) {
	if len(t.ids) < 2 {
		return
	}
	for _, c := range d.containers {
		if c.rid() == t.ids[1] {
			t.ids[1] = c.id
			c.resolve(t)
			return
		}
	}
}

func (c *container) resolve(t *target) {
	if t.pattern != "dbs/*/colls/*/docs/*" {
		return
	}
	sequence, ok := itemSequence(t.ids[2])
	if !ok || itemRID(c.database.number, c.number, sequence) != t.ids[2] {
		return
	}
	for _, r := range c.ranges {
		if i := r.bySequence(sequence); i != nil {
			t.ids[2] = i.key.id
			return
		}
	}
}

// bySequence gives the item of a sequence, nil when it isn't in this range.
func (r *keyRange) bySequence(sequence uint64) *item {
	r.mu.RLock()
	defer r.mu.RUnlock()
	i, _ := r.order.Get(&item{sequence: sequence})
	return i
}
