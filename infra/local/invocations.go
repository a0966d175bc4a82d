package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// ended is the line that a handler logs at the end of an invocation, or one within
// it that says what the invocation is about.
type ended struct {
	Time        time.Time  `json:"time"`
	Level       slog.Level `json:"level"`
	Msg         string     `json:"msg"`
	Function    string     `json:"function"`
	Invocation  string     `json:"invocation.id"`
	Transaction string     `json:"transaction.id"`
	Message     string     `json:"message.id"`
	Milli       int64      `json:"duration.ms"`
	Error       string     `json:"error"`

	Method string `json:"http.method"`
	Path   string `json:"http.path"`
	Status int    `json:"http.status"`

	From      string `json:"from"` // states
	State     string `json:"state"`
	Partition string `json:"partition"`
	Events    int    `json:"events"`
}

// invocation is what people read of one. The names of its fields are those of
// serve -invocations -json.
type invocation struct {
	Time       time.Time `json:"time"`
	Function   string    `json:"function"`
	Invocation string    `json:"invocation"`
	ID         string    `json:"id,omitempty"` // of the transaction or, if it isn't known, of the message
	Happened   string    `json:"happened"`
	Failed     bool      `json:"failed"`
	Milli      int64     `json:"ms"`
}

// mostUnderWay bounds what is remembered of invocations that have not ended. Those of
// a handler that was killed never do.
const mostUnderWay = 4096

// invocations makes one line of each invocation from the lines of the handlers' log.
// It isn't safe for concurrent use.
type invocations struct {
	d        *display
	colour   bool
	underWay map[string]*invocation // by their ids
}

func newInvocations(d *display) *invocations {
	return &invocations{d: d, colour: d.terminal && os.Getenv("NO_COLOR") == "", underWay: map[string]*invocation{}}
}

// follow takes a line of the log.
func (f *invocations) follow(line []byte) {
	var e ended
	if json.Unmarshal(line, &e) != nil || e.Function == "" || e.Invocation == "" {
		return
	}
	i := f.underWay[e.Invocation]
	if i == nil {
		if len(f.underWay) == mostUnderWay {
			clear(f.underWay)
		}
		i = &invocation{}
		f.underWay[e.Invocation] = i
	}
	i.ID = cmp.Or(e.Transaction, i.ID, e.Message)
	switch e.Msg {
	case "transaction changed its state":
		if !strings.HasSuffix(i.Happened, e.From) {
			i.add(e.From)
		}
		i.Happened += " → " + e.State
		return
	case "relayed":
		i.add(fmt.Sprintf("%d of partition %s", e.Events, e.Partition))
		return
	case "answered":
		i.Happened = strings.TrimSpace(e.Method + " " + e.Path + " " + strconv.Itoa(e.Status) + " " + i.Happened)
		i.Failed = e.Status == 0 || e.Status >= http.StatusInternalServerError
	case "invocation succeeded":
		i.Happened = cmp.Or(i.Happened, "succeeded")
	case "invocation failed":
		i.add("failed: " + e.Error)
		i.Failed = true
	default:
		return
	}
	delete(f.underWay, e.Invocation)
	i.Time, i.Function, i.Invocation, i.Milli = e.Time, e.Function, e.Invocation, e.Milli
	f.show(*i)
}

func (i *invocation) add(what string) {
	if i.Happened != "" {
		what = i.Happened + ", " + what
	}
	i.Happened = what
}

func (f *invocations) show(i invocation) {
	if f.d.json {
		f.d.object(i)
		return
	}
	line := fmt.Sprintf("%s  %-22s %-50s %6d ms  %s", i.Time.Local().Format("15:04:05.000"), i.Function, i.ID, i.Milli, i.Happened)
	if f.colour && i.Failed {
		line = "\x1b[31m" + line + "\x1b[0m"
	}
	f.d.note("%s", line)
}
