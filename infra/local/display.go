package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/workload"
	"golang.org/x/term"
)

// display shows what the demo does: a bar that is drawn over itself in a
// terminal, plain lines elsewhere, one JSON object a line for scripts.
type display struct {
	out      io.Writer
	json     bool
	terminal bool
	columns  func() int // of the terminal, now
	last     string     // the line that was shown last, so that none is repeated
}

// usualColumns is the width of a terminal that doesn't tell its own.
const usualColumns = 80

func newDisplay(out io.Writer, asJSON bool) *display {
	file, ok := out.(*os.File)
	d := &display{out: out, json: asJSON, terminal: ok && !asJSON && term.IsTerminal(int(file.Fd()))}
	d.columns = func() int {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			return columns
		}
		return usualColumns
	}
	return d
}

// note shows a line of text; as JSON it is {"note": ...}.
func (d *display) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if d.json {
		d.object(map[string]any{"note": text})
		return
	}
	fmt.Fprintln(d.out, text)
}

func (d *display) object(value any) {
	line, err := json.Marshal(value)
	if err != nil {
		line = []byte(fmt.Sprintf("{\"error\":%q}", err))
	}
	fmt.Fprintf(d.out, "%s\n", line)
}

// follow shows the tally until done is closed, and once more then. planned is how
// many are to become final.
func (d *display) follow(tally *workload.Tally, planned int, done <-chan struct{}) {
	pause := time.Second
	if d.terminal {
		pause = 100 * time.Millisecond
	}
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		select {
		case <-done:
			d.show(tally, planned)
			if d.terminal {
				fmt.Fprintln(d.out)
			}
			return
		case <-tick.C:
			d.show(tally, planned)
		}
	}
}

// bar is a line of less than columns characters, so that the terminal doesn't go
// on to the next one: as much of a bar as there is place for, and the counts.
func bar(columns int, sent, accepted, final int64, planned int) string {
	const most = 40
	text := fmt.Sprintf("sent %d, accepted %d, final %d", sent, accepted, final)
	if width := min(most, columns-len(text)-4); width > 0 {
		full := width * min(int(final), planned) / max(planned, 1)
		text = "[" + strings.Repeat("#", full) + strings.Repeat(".", width-full) + "] " + text
	}
	return text[:max(0, min(len(text), columns-1))]
}

func (d *display) show(tally *workload.Tally, planned int) {
	sent, accepted, final := tally.Sent.Load(), tally.Accepted.Load(), tally.Final.Load()
	var line string
	switch {
	case d.json:
		line = fmt.Sprintf(`{"sent":%d,"accepted":%d,"final":%d,"planned":%d}`, sent, accepted, final, planned)
	case d.terminal:
		line = "\r" + bar(d.columns(), sent, accepted, final, planned) + "\x1b[K" // and nothing of what stood there
	default:
		line = fmt.Sprintf("sent %d, accepted %d, final %d of %d", sent, accepted, final, planned)
	}
	if line == d.last {
		return
	}
	d.last = line
	if !d.terminal {
		line += "\n"
	}
	fmt.Fprint(d.out, line)
}
