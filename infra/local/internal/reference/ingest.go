package main

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/gorilla/mux"

	"github.com/fabrikam/drone-delivery/shared/delivery"
	"github.com/fabrikam/drone-delivery/shared/message"
	"github.com/fabrikam/drone-delivery/shared/mint"
	"github.com/fabrikam/drone-delivery/shared/problem"
	"github.com/fabrikam/drone-delivery/shared/record"
	"github.com/fabrikam/drone-delivery/shared/telemetry"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// executor is how many events may be on their way, or wait to be: the original
// has 200 threads, and 10 000 places to wait in.
const executor = 200 + 10_000

// send sends one event, to any partition. There is nobody left to tell of a
// failure.
func (a *app) send(ctx context.Context, event message.Event) {
	partitions, err := a.producer.Partitions(ctx)
	if err == nil {
		err = a.producer.Send(ctx, partitions[rand.IntN(len(partitions))], []message.Event{event})
	}
	if err != nil {
		a.logger.Error("accepted, and not sent", telemetry.KeyTransaction, event.PartitionKey, telemetry.KeyError, err)
	}
}

func (a *app) ingestEndpoints(ctx context.Context) []record.Endpoint {
	const one = "deliveryrequests/{id}"
	return []record.Endpoint{
		{Method: http.MethodPost, Path: "deliveryrequests", Handle: a.accept(ctx, workflow.OperationDeliver, request)},
		{Method: http.MethodPut, Path: one, Handle: a.accept(ctx, workflow.OperationDeliver, request)},
		{Method: http.MethodPatch, Path: one, Handle: a.accept(ctx, workflow.OperationReschedule, change)},
		{Method: http.MethodDelete, Path: one, Handle: a.accept(ctx, workflow.OperationCancel, nil)},
	}
}

func request(body []byte) (json.RawMessage, error) {
	r, err := delivery.Parse(body, time.Time{})
	if err != nil {
		return nil, err
	}
	return r.Canonical()
}

func change(body []byte) (json.RawMessage, error) {
	c, err := delivery.ParseChange(body, time.Time{})
	if err != nil {
		return nil, err
	}
	return c.Canonical()
}

// accept answers 202, with the app's receipt, as soon as the request is read; its
// event is sent later, as long as ctx lasts. It never looks whether there is such
// a transaction.
func (a *app) accept(ctx context.Context, kind workflow.OperationKind, parse func([]byte) (json.RawMessage, error)) record.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		id, err := a.ids.New(mint.Transaction, "") // if one begins here
		if mux.Vars(r)["id"] != "" {
			id, err = record.PathID(r)
		}
		if err != nil {
			return err
		}
		operation, err := a.ids.New(mint.Operation, "")
		if err != nil {
			return err
		}
		e := message.Envelope{TransactionID: id, OperationID: operation, Operation: string(kind), AcceptedAt: time.Now().UTC()}
		if parse != nil {
			body, p := problem.ReadBody(w, r, message.MaxBody)
			if p != nil {
				return p
			}
			if e.Body, err = parse(body); err != nil {
				return err
			}
		}
		encoded, err := e.Encode()
		if err != nil {
			return err
		}
		sent := a.sending.TryGo(func() error {
			a.send(ctx, message.Event{PartitionKey: id, Body: encoded})
			return nil
		})
		if !sent {
			return problem.New(problem.Unavailable, "too many requests wait to be sent")
		}
		return record.WriteJSON(w, http.StatusAccepted, map[string]any{"transactionId": id, "operationId": operation, "repeated": false})
	}
}
