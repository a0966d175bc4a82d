package ops

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// maxCell is how much of a long text a table shows, in characters.
const maxCell = 90

// line returns text on one line, without what would make a terminal do
// something: much of it comes from elsewhere.
func line(text string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, text)), " ")
}

// cell is line, cut to the width of a cell.
func cell(text string) string {
	if runes := []rune(line(text)); len(runes) > maxCell {
		return string(runes[:maxCell-1]) + "…"
	} else if len(runes) > 0 {
		return string(runes)
	}
	return "-"
}

// moment shows a time, in UTC and to the second.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// table writes rows in columns; the first row is the head.
func table(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		if _, err := fmt.Fprintln(columns, strings.Join(row, "\t")); err != nil {
			return err
		}
	}
	return columns.Flush()
}

// WriteTransactions writes a list of transactions for people.
func WriteTransactions(w io.Writer, list []Of[operate.Summary]) error {
	head := []string{"ID", "STATE", "SINCE", "STEP", "ATTEMPTS", "NEXT WAKE", "CAUSE", "UNUSUAL", "LAST ERROR OR REASON"}
	return table(w, sharded(head, list, func(s operate.Summary) []string {
		var unusual []string
		for _, trouble := range s.Unusual {
			unusual = append(unusual, string(trouble))
		}
		return []string{cell(s.ID), cell(string(s.State)), moment(s.Since.Time), cell(s.Step), fmt.Sprint(s.Attempts), moment(s.WakeAt.Time),
			cell(string(s.Cause)), cell(strings.Join(unusual, " ")), cell(cmp.Or(s.LastError, s.Reason))}
	}))
}

// WriteResults writes what has become of several by an act.
func WriteResults(w io.Writer, results []operate.Result) error {
	rows := [][]string{{"ID", "DONE", "STATE", "RESULT"}}
	for _, r := range results {
		done := "no"
		switch {
		case r.Repeated:
			done = "before"
		case r.Done:
			done = "yes"
		}
		rows = append(rows, []string{cell(r.ID), done, cell(r.State), cell(r.Result)})
	}
	return table(w, rows)
}

// WriteEntries writes a list of the quarantine for people.
func WriteEntries(w io.Writer, list []Of[quarantine.Entry]) error {
	return table(w, sharded([]string{"SOURCE", "ID", "STATE", "SINCE", "REASON", "TRANSACTION", "DETAIL"}, list, func(e quarantine.Entry) []string {
		return []string{cell(e.Source), cell(e.ID), cell(string(e.State)), moment(e.At), cell(e.Reason), cell(e.TransactionID), cell(e.Detail)}
	}))
}

// WriteActed writes what has become of a transaction by an act. command is how
// the command is called.
func WriteActed(w io.Writer, a operate.Acted, command string) error {
	_, err := fmt.Fprintf(w, "transaction %s is %s%s; see %s show %s\n", line(a.ID), a.State, repeated(a.Repeated), command, line(a.ID))
	return err
}

// WriteEntryActed writes what has become of an entry by an act.
func WriteEntryActed(w io.Writer, a operate.EntryActed) error {
	_, err := fmt.Fprintf(w, "entry %s is %s%s: %s\n", line(a.Entry.ID), a.Entry.State, repeated(a.Repeated), line(a.Result))
	return err
}

func repeated(was bool) string {
	if was {
		return " (it was done before; nothing was done now)"
	}
	return ""
}
