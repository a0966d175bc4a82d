package main

import (
	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/engine"
	"github.com/fabrikam/drone-delivery/shared/settings"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// crashEffects are the effects of the app on the outside world, in the form
// "<port>.<Method>", some with what they are done to. A test holds them to the
// ports, and has each of them crash.
func crashEffects(b business.Business) []string {
	effects := []string{
		"producer.Send", "requests.CreateIfAbsent", "outside.Create", "checkpoints.Save", "quarantine.Put", "quarantine.Replace",
		"transactions.Create", "receiver.Post",
	}
	for _, state := range workflow.States {
		effects = append(effects, "transactions.Replace."+string(state))
	}
	for _, backend := range b.Backends {
		for _, c := range backend.Containers {
			effects = append(effects, c.Name+".Create", c.Name+".Replace")
		}
	}
	for _, queue := range []workflow.Queue{workflow.QueueTransactions, workflow.QueueCompensations, workflow.QueueNotifications} {
		effects = append(effects, "sender.Send."+string(queue))
	}
	for _, step := range b.Workflow.Steps {
		in := workflow.Input{TransactionID: "t", Revision: 1, Request: []byte("{}")}
		effects = append(effects, callEffect(step.Call(in)))
		if step.Undo != nil {
			effects = append(effects, callEffect(step.Undo(in)))
		}
	}
	return effects
}

func callEffect(c workflow.Call) string { return "caller." + c.Method + "." + c.Backend }

// queueRoles tells what the queues are for, by their names.
func queueRoles(s settings.Settings) map[string]workflow.Queue {
	return map[string]workflow.Queue{
		s.TransactionsQueue: workflow.QueueTransactions, s.CompensationsQueue: workflow.QueueCompensations,
		s.NotificationsQueue: workflow.QueueNotifications,
	}
}

// sendEffect names a send after the queue of its first message; one send never
// mixes them.
func sendEffect(roles map[string]workflow.Queue, messages []engine.Queued) string {
	if len(messages) == 0 {
		return "sender.Send"
	}
	return "sender.Send." + string(roles[messages[0].Queue])
}
