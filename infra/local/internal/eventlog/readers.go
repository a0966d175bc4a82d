package eventlog

// MaxReaders is how many readers without an owner level may read one partition
// in one consumer group at a time (Event Hubs quotas).
const MaxReaders = 5

// A Reader is one reader of a partition in a consumer group, compared by
// identity.
type Reader struct {
	// Name is what the reader calls itself; it is only told to others.
	Name string
	// OwnerLevel is the reader's epoch, nil for none.
	OwnerLevel *int64
}

// Readers knows who reads one partition in one consumer group. At most one
// reader has an owner level, and then it is the only one. The zero value has no
// reader.
type Readers struct {
	owner  *Reader
	others []*Reader // without owner level, in order of joining
}

// Join lets r read and gives the readers that it drives out: with an owner
// level, all the others. An equal level wins over the owner, too. The error
// wraps ErrStolen or ErrTooMany.
func (s *Readers) Join(r *Reader) (out []*Reader, err error) {
	if r.OwnerLevel == nil {
		return nil, s.joinOthers(r)
	}
	if s.owner != nil {
		if *s.owner.OwnerLevel > *r.OwnerLevel {
			return nil, s.refused(r, *r.OwnerLevel)
		}
		out = append(out, s.owner)
	}
	out = append(out, s.others...)
	s.owner, s.others = r, nil
	return out, nil
}

func (s *Readers) joinOthers(r *Reader) error {
	if s.owner != nil {
		return s.refused(r, 0)
	}
	if len(s.others) >= MaxReaders {
		return refuse(ErrTooMany, "Exceeded the maximum number of allowed receivers per partition in a consumer group which is %d", MaxReaders)
	}
	s.others = append(s.others, r)
	return nil
}

func (s *Readers) refused(r *Reader, level int64) error {
	return refuse(ErrStolen, "Receiver '%s' with a higher epoch '%d' already exists. "+
		"Receiver '%s' with epoch %d cannot be created. "+
		"Make sure you are creating receiver with increasing epoch value to ensure connectivity, "+
		"or ensure all old epoch receivers are closed or disconnected",
		s.owner.Name, *s.owner.OwnerLevel, r.Name, level)
}

// Leave forgets r. It does nothing when r was driven out before.
func (s *Readers) Leave(r *Reader) {
	if s.owner == r {
		s.owner = nil
		return
	}
	for i, o := range s.others {
		if o == r {
			s.others = append(s.others[:i:i], s.others[i+1:]...)
			return
		}
	}
}

// Len is the number of readers.
func (s *Readers) Len() int {
	if s.owner != nil {
		return 1
	}
	return len(s.others)
}
