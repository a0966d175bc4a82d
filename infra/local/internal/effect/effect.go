package effect

import (
	"strconv"
	"strings"
)

// A point is the name of an effect with one of these behind it.
const (
	Before = ".before" // it is not done
	Answer = ".answer" // it is done, and not answered
)

// Notice is the effect of telling somebody outside.
const Notice = "notice"

// Write names the write of an item. With a state it is that of an item that has
// it then, in its field "state".
func Write(container, state string) string {
	if state == "" {
		return "write." + container
	}
	return "write." + container + "." + state
}

// Send names a transfer to a queue or a hub.
func Send(entity string) string { return "send." + strings.ToLower(entity) }

// Call names a call of a function.
func Call(method, function string) string { return "call." + method + "." + function }

// processOf returns the process id in a user agent, if it is that of a handler of
// the run: its instance begins with the run's name.
func processOf(agent, run string) (pid int, ok bool) {
	id, _, _ := strings.Cut(agent, " ")
	instance, number, found := strings.Cut(id, ".")
	if !found || run == "" || !strings.HasPrefix(instance, run) {
		return 0, false
	}
	pid, err := strconv.Atoi(number)
	return pid, err == nil && pid > 1
}
