package bench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// WriteMarkdown writes what the scenarios have measured as tables, for
// docs/performance.md and for people.
func WriteMarkdown(w io.Writer, outcomes []*Outcome) error {
	tables := table("scenario | ratio | min | median | max | compares", ratios(outcomes)) +
		table("scenario | side | a second | CPU ms each | cores busy | with others", efforts(outcomes)) +
		table("scenario | stage | transactions | s | runtime MB | at most | handler MB | at most", memory(outcomes)) +
		table(wayColumns, wayRows(outcomes)) +
		table(tradeColumns, tradeRows(outcomes)) +
		table("settled by | sent | lost | of them half done | calls again | a second until the kill | CPU ms each | s from the kill to the last", settledRows(outcomes)) +
		table(shardColumns, shardRows(outcomes)) +
		table(viewedColumns, viewedRows(outcomes)) +
		table(costColumns, costRows(outcomes)) +
		table("scenario | check | target | measured | ", checks(outcomes))
	if _, err := io.WriteString(w, tables); err != nil {
		return err
	}
	for _, o := range outcomes {
		for _, l := range o.Loads {
			if _, err := fmt.Fprintf(w, "\n%s:\n\n```", o.Scenario); err != nil {
				return err
			}
			if err := l.WriteText(w); err != nil {
				return err
			}
			if _, err := io.WriteString(w, "```\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// table has the rows below the names of the columns; it is empty without rows.
func table(columns string, rows []string) string {
	if len(rows) == 0 {
		return ""
	}
	line := "|" + strings.Repeat("---|", strings.Count(columns, "|")+1)
	return "\n| " + strings.TrimSuffix(columns, " ") + " |\n" + line + "\n" + strings.Join(rows, "")
}

// enoughBusy is from which part of the cores on a throughput compares two sides: one
// that waits could do more.
const enoughBusy = 0.9

// quiet is up to which part of the cores the work of others is as always.
const quiet = 0.1

func ratios(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, c := range o.Comparisons {
			throughput := "throughput, all cores busy on both sides"
			busy, others := c.leastBusy()
			if busy < enoughBusy {
				throughput = fmt.Sprintf("throughput, but only %.0f %% of the cores were busy on one side", 100*busy)
			}
			if others > quiet {
				throughput += fmt.Sprintf("; up to %.0f %% with the work of others: not to be trusted", 100*others)
			}
			t, cpu := c.Throughput(), c.CPU()
			rows = append(rows, fmt.Sprintf("| %s | %s a second, %s ÷ %s | %s | %s |\n", o.Scenario, c.Item, c.Ours, c.Base, t.percent(), throughput),
				fmt.Sprintf("| %s | CPU for one %s, %s ÷ %s | %s | CPU: %s |\n", o.Scenario, c.Item, c.Base, c.Ours, cpu.percent(), c.Scope))
		}
	}
	return rows
}

func (s Spread) percent() string {
	return fmt.Sprintf("%.1f %% | %.1f %% | %.1f %%", 100*s.Min, 100*s.Median, 100*s.Max)
}

func efforts(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, c := range o.Comparisons {
			for _, side := range []struct {
				name   string
				effort func(Rounds) Effort
			}{{c.Ours, func(r Rounds) Effort { return r.Ours }}, {c.Base, func(r Rounds) Effort { return r.Base }}} {
				of := func(value func(Effort) float64) Spread {
					return c.spread(func(r Rounds) float64 { return value(side.effort(r)) })
				}
				rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", o.Scenario, side.name, of(Effort.Rate).text("%.0f"),
					of(func(e Effort) float64 { return float64(e.PerItem()) / float64(time.Millisecond) }).text("%.3f"),
					of(func(e Effort) float64 { return 100 * e.Busy }).text("%.0f %%"),
					of(func(e Effort) float64 { return 100 * e.Others }).text("%.0f %%")))
			}
		}
	}
	return rows
}

// text is the median, with the smallest and the largest.
func (s Spread) text(format string) string {
	return fmt.Sprintf(format+" ("+format+" to "+format+")", s.Median, s.Min, s.Max)
}

func memory(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, m := range o.Memory {
			rows = append(rows, fmt.Sprintf("| %s | %s | %d | %.0f | %s | %s | %s | %s |\n", o.Scenario, m.Stage, m.Done, m.Took.Seconds(),
				megabytes(m.Runtime.Now), megabytes(m.Runtime.Peak), megabytes(m.Handler.Now), megabytes(m.Handler.Peak)))
		}
	}
	return rows
}

// megabytes are binary ones, as the limits of memory are.
func megabytes(n int64) string { return strconv.FormatInt(n>>20, 10) }

func checks(outcomes []*Outcome) (rows []string) {
	for _, o := range outcomes {
		for _, c := range o.Checks {
			verdict := "met"
			switch {
			case c.Lost:
				verdict = "**broken**"
			case !c.Met:
				verdict = "missed"
			}
			rows = append(rows, fmt.Sprintf("| %s | %s | %s | %s | %s |\n", o.Scenario, c.What, c.Want, c.Got, verdict))
		}
	}
	return rows
}
