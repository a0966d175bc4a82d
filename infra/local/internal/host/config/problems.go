package config

import (
	"fmt"
	"strings"
)

// Problems is the error of a configuration that can't be served: everything
// that is wrong with it, each entry naming the file, the field and what to do.
type Problems []string

func (p Problems) Error() string {
	return fmt.Sprintf("the function app can't start, %d problem(s):\n  - %s", len(p), strings.Join(p, "\n  - "))
}

// addf adds a problem of a place, such as "host.json: extensions.http".
func (p *Problems) addf(place, format string, args ...any) {
	*p = append(*p, place+": "+fmt.Sprintf(format, args...))
}
