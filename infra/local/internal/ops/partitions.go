package ops

import (
	"io"
	"strconv"
	"time"

	"github.com/fabrikam/drone-delivery/shared/relay"
)

// WritePartitions writes how things stand with partitions for people.
func WritePartitions(w io.Writer, list []relay.Partition) error {
	rows := [][]string{{"GROUP", "PARTITION", "CHECKPOINT", "HANDED OVER", "LAST", "LAG", "OLDEST UNREAD", "OWNER", "RENEWED", "READ BY", "SINCE"}}
	for _, p := range list {
		handedOver, age := "-", "-"
		if p.HandedOver != nil {
			handedOver = strconv.FormatInt(*p.HandedOver, 10)
		}
		if p.Lag > 0 {
			age = time.Duration(p.UnreadSeconds * float64(time.Second)).Round(100 * time.Millisecond).String()
		}
		rows = append(rows, []string{cell(p.ConsumerGroup), cell(p.Partition), number(p.Checkpoint), handedOver, number(p.Last),
			strconv.FormatInt(p.Lag, 10), age, cell(p.Owner), moment(p.RenewedAt), cell(p.Reader), moment(p.Since)})
	}
	return table(w, rows)
}

// number shows a sequence number; below 0 there is none.
func number(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}
