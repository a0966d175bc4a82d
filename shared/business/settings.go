package business

import (
	"fmt"
	"time"
)

// Setting is an environment variable of a business. Package settings reads it,
// refuses what is out of its range, and lists it in docs/settings.md.
type Setting struct {
	Name    string // such as FLEET_DRONES
	Default string
	Text    string // what it says, for people, with its unit
	Kind    Kind
	// Min and Max are the range of a number, in the unit of the variable.
	Min, Max float64
	// Unit is that of a Span: FLEET_DAYS is in units of 24 h.
	Unit time.Duration
}

// Kind is the form of a setting's value.
type Kind int

// The kinds.
const (
	Text    Kind = iota
	Whole        // a whole number
	Decimal      // a number
	Span         // a number of Units
	Secret       // a text that is never shown
	URL          // an address whose content others on the way can't read: https, or this machine
)

// Values are the values of a business's settings by name: a string for Text and
// URL, an int, a float64, a time.Duration, and what reveals a Secret but doesn't
// print it. They are read-only.
type Values map[string]any

// Text returns the value of a Text or URL.
func (v Values) Text(name string) string { return value[string](v, name) }

// Secret returns the value of a Secret.
func (v Values) Secret(name string) string {
	return value[interface{ Reveal() string }](v, name).Reveal()
}

// Whole returns the value of a Whole.
func (v Values) Whole(name string) int { return value[int](v, name) }

// Decimal returns the value of a Decimal.
func (v Values) Decimal(name string) float64 { return value[float64](v, name) }

// Span returns the value of a Span.
func (v Values) Span(name string) time.Duration { return value[time.Duration](v, name) }

// value panics for a setting that the business does not have in that form: no
// environment can be to blame for it, and every test that reads it finds it.
func value[T any](v Values, name string) T {
	found, ok := v[name].(T)
	if !ok {
		panic(fmt.Sprintf("business: the setting %s is %T, not %T", name, v[name], found))
	}
	return found
}

// Rule is a relation that must hold between settings.
type Rule struct {
	// Names are the variables concerned.
	Names []string
	// Text is the rule and its reason.
	Text string
	// Holds tells whether the settings keep it.
	Holds bool
}
