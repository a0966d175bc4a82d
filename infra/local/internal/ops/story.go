package ops

import (
	"fmt"
	"io"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/operate"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// WriteStory writes all that is known of a transaction for people, in the order
// of time. command is how the command is called.
func WriteStory(w io.Writer, s operate.Story, command string) error {
	p := s.Transaction
	var b strings.Builder
	b.WriteString(line(fmt.Sprintf("transaction %s is %s%s", p.ID, p.State, operate.Because(string(p.Cause), p.Reason))) + "\n\n")
	for _, e := range s.Timeline {
		by := ""
		if e.By != "" {
			by = " [by " + line(e.By) + "]"
		}
		fmt.Fprintf(&b, "  %s  %s%s\n", instant(e.At), line(e.What), by)
	}
	if s.MoreInQuarantine {
		fmt.Fprintf(&b, "  and more in the quarantine\n")
	}
	if p.Wake > 0 {
		fmt.Fprintf(&b, "\nwakes: %d; the last %d brought nothing forward, Sweep has sent %d since a runner answered\n", p.Wake, p.Laters, p.Sweeps)
	}
	if s.TraceID != "" {
		fmt.Fprintf(&b, "\ntrace: %s\n", strings.TrimSpace(line(s.TraceID)+"  "+line(s.TraceURL)))
	}
	b.WriteString("\nsteps:\n")
	if err := table(&b, stepRows(p)); err != nil {
		return err
	}
	if len(s.Remaining) > 0 {
		b.WriteString("\nleft to be undone, in this order:\n")
		for _, r := range s.Remaining {
			fmt.Fprintf(&b, "  %s\n", left(p.ID, r))
		}
	}
	b.WriteString("\nnext:\n")
	for _, e := range s.Next {
		fmt.Fprintf(&b, "  %s  %s\n", instant(e.At), line(e.What))
	}
	if len(s.Acts) > 0 {
		b.WriteString("\nyou can:\n")
		for _, act := range s.Acts {
			fmt.Fprintf(&b, "  %s %s %s -why …\n", command, line(act), line(p.ID))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// instant shows a time to the millisecond, in a column.
func instant(at workflow.Instant) string {
	const layout = "2006-01-02 15:04:05.000Z"
	if at.IsZero() {
		return fmt.Sprintf("%-*s", len(layout), "")
	}
	return at.UTC().Format(layout)
}

// stepRows are the steps of a transaction as they stand.
func stepRows(p *workflow.Progress) [][]string {
	rows := [][]string{{"  STEP", "STATE", "EFFECT", "ATTEMPTS", "UNDOS", "REVISION", "RESULT OR ERROR"}}
	for _, s := range p.Steps {
		last := string(s.Result)
		switch {
		case s.UndoError != nil:
			last = "undo: " + failed(s.UndoError)
		case s.Error != nil:
			last = failed(s.Error)
		}
		rows = append(rows, []string{"  " + cell(s.Name), cell(string(s.State)), s.Effect.String(),
			fmt.Sprint(s.Attempts), fmt.Sprint(s.UndoAttempts), fmt.Sprint(s.Revision), cell(last)})
	}
	return rows
}

func failed(e *workflow.StepError) string { return line(operate.InWords(e)) }

// left tells how an undo is made by hand.
func left(id string, r operate.Remaining) string {
	text := fmt.Sprintf("%s (effect: %s)", line(r.Step), r.Effect)
	if r.Path == "" {
		return text + ": this version of the app does not know how"
	}
	text += fmt.Sprintf(": %s %s of backend %s, with Transaction-Id: %s, Revision: %d",
		line(r.Method), line(r.Path), line(r.Backend), line(id), r.Revision)
	if r.OperationID != "" {
		text += ", Operation-Id: " + line(r.OperationID)
	}
	if len(r.Body) > 0 {
		text += ", body " + line(string(r.Body))
	}
	if r.Error != nil {
		text += fmt.Sprintf("; tried %d times: %s", r.Attempts, failed(r.Error))
	}
	return text
}
