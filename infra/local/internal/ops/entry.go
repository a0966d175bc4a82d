package ops

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/fabrikam/drone-delivery/shared/quarantine"
)

// WriteEntry writes an entry of the quarantine for people. command is how the
// command is called.
func WriteEntry(w io.Writer, e quarantine.Entry, command string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "entry %s is %s\n\n", line(e.ID), e.State)
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", name, value)
		}
	}
	field("source", line(e.Source))
	field("number", fmt.Sprint(e.SequenceNumber))
	field("since", moment(e.At))
	field("reason", line(e.Reason))
	field("detail", line(e.Detail))
	field("transaction", line(e.TransactionID))
	field("message", line(e.MessageID))
	for _, name := range slices.Sorted(maps.Keys(e.Properties)) {
		value, err := json.Marshal(e.Properties[name])
		if err != nil {
			return fmt.Errorf("property %s of entry %s: %w", name, e.ID, err)
		}
		field("property", line(name)+" = "+line(string(value)))
	}
	for _, a := range e.Acts {
		result := a.Result
		if result == "" {
			result = "what came of it is not known"
		}
		field("act", fmt.Sprintf("%s  %s by %s: %s; %s", moment(a.At), a.Act, line(a.By), line(a.Why), line(result)))
	}
	how := "text"
	if e.Encoding != "" {
		how = line(e.Encoding)
	}
	fmt.Fprintf(&b, "\nbody, %d bytes as %s:\n%s\n", len(e.Body), how, block(e.Body))
	if e.State == quarantine.Kept {
		fmt.Fprintf(&b, "\nyou can:\n")
		for _, act := range []quarantine.ActKind{quarantine.ActRedrive, quarantine.ActDrop} {
			fmt.Fprintf(&b, "  %s quarantine %s %s %s -why …\n", command, act, line(e.Source), line(e.ID))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// block returns a text of several lines, indented, without what would make a
// terminal do something.
func block(text string) string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		lines = append(lines, "  "+strings.Map(func(r rune) rune {
			if unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Cf, r) {
				return '?'
			}
			return r
		}, strings.TrimSuffix(part, "\r")))
	}
	return strings.Join(lines, "\n")
}
