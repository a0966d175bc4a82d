package ops

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/relay"
)

// WritePartitions writes how things stand with partitions for people.
func WritePartitions(w io.Writer, list []Of[relay.Partition]) error {
	head := []string{"GROUP", "PARTITION", "CHECKPOINT", "HANDED OVER", "LAST", "LAG", "OLDEST UNREAD", "OWNER", "RENEWED", "READ BY", "SINCE"}
	return table(w, sharded(head, list, func(p relay.Partition) []string {
		handedOver, age := "-", "-"
		if p.HandedOver != nil {
			handedOver = strconv.FormatInt(*p.HandedOver, 10)
		}
		if p.Lag > 0 {
			age = time.Duration(p.UnreadSeconds * float64(time.Second)).Round(100 * time.Millisecond).String()
		}
		return []string{cell(p.ConsumerGroup), cell(p.Partition), number(p.Checkpoint), handedOver, number(p.Last),
			strconv.FormatInt(p.Lag, 10), age, cell(p.Owner), moment(p.RenewedAt), cell(p.Reader), moment(p.Since)}
	}))
}

// number shows a sequence number; below 0 there is none.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// WriteReplayed writes what came of a call of a replay that began with a sequence
// number, for people.
func WriteReplayed(w io.Writer, r relay.Replayed, first int64) error {
	name := "partition " + line(r.Partition)
	if r.Last < r.First {
		_, err := fmt.Fprintf(w, "%s: nothing to hand over again; Relay has come to %s\n", name, cmp.Or(strings.Trim(number(r.To), "-"), "no event"))
		return err
	}
	_, err := fmt.Fprintf(w, "%s: events %d to %d handed over again, %d %% of %d to %d\n",
		name, r.First, r.Last, (r.Last-first+1)*100/(r.To-first+1), first, r.To)
	if err == nil && r.Next == nil {
		_, err = fmt.Fprintf(w, "%s: all %d handed over again; what was done is recognized, what was missed is done now\n", name, r.To-first+1)
	}
	return err
}
