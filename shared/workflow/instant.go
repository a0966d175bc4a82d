package workflow

import "time"

// Instant is a time in UTC that is stored with exactly three fractional
// digits, so that stored instants compare as strings as they do in time.
type Instant struct{ time.Time }

const instantLayout = "2006-01-02T15:04:05.000Z"

// At returns t as an Instant, cut to milliseconds.
func At(t time.Time) Instant { return Instant{t.UTC().Truncate(time.Millisecond)} }

// String returns the stored form, which queries compare with.
func (i Instant) String() string { return i.UTC().Format(instantLayout) }

// MarshalText writes the stored form.
func (i Instant) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// MarshalJSON writes the stored form as a JSON string.
func (i Instant) MarshalJSON() ([]byte, error) { return []byte(`"` + i.String() + `"`), nil }
