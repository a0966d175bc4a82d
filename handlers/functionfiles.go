package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/customhandler"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// printFunctions writes the function.json of every function of the table, by name, as
// JSON. It connects to nothing.
func printFunctions(getenv func(string) string, w io.Writer) error {
	b := chosen.Business()
	s, err := settings.Load(b, getenv)
	if err != nil {
		return fmt.Errorf("the settings are not usable:\n%w", err)
	}
	app, err := New(b, s, slog.New(slog.DiscardHandler))
	if err != nil {
		return fmt.Errorf("the handler can't start: %w", err)
	}
	files := make(map[string]customhandler.FunctionFile, len(app.functions))
	for _, f := range app.functions {
		files[f.name] = f.file()
	}
	return errors.Join(json.NewEncoder(w).Encode(files), app.Close(context.Background()))
}

// file is the function.json of a function.
func (f function) file() customhandler.FunctionFile {
	file := customhandler.FunctionFile{Bindings: []customhandler.Binding{{Type: f.trigger, Direction: "in", Name: f.binding}}}
	trigger := &file.Bindings[0]
	switch f.trigger {
	case httpTrigger:
		trigger.AuthLevel, trigger.Route = "function", f.template
		if f.anonymous {
			trigger.AuthLevel = "anonymous"
		}
		for _, m := range f.methods() {
			trigger.Methods = append(trigger.Methods, strings.ToLower(m))
		}
		file.Bindings = append(file.Bindings, customhandler.Binding{Type: "http", Direction: "out", Name: "res"})
	case eventHubTrigger:
		trigger.EventHubName, trigger.ConsumerGroup, trigger.Connection = f.source, "%EVENTHUB_CONSUMER_GROUP%", "EventHubs"
		trigger.Cardinality, trigger.DataType = "many", "binary"
		file.Retry = &customhandler.Retry{Strategy: "exponentialBackoff", MaxRetryCount: -1, MinimumInterval: "00:00:01", MaximumInterval: "00:01:00"}
	case serviceBusTrigger:
		trigger.QueueName, trigger.Connection, trigger.Cardinality, trigger.DataType = f.source, "ServiceBus", "one", "binary"
	case timerTrigger:
		trigger.Schedule = f.source
	}
	return file
}
