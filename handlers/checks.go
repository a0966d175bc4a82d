package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/shared/messaging"
)

// checks ask the services what only they can answer, over connections of their
// own: those that are open already may not have noticed an outage.
func (a *adapters) checks() []check {
	var checks []check
	if a.settings.EventHubs.Used() {
		checks = append(checks, check{"eventHubs", a.checkEventHubs})
	}
	if a.settings.ServiceBus.Used() {
		checks = append(checks, check{"serviceBus", a.checkServiceBus})
	}
	if a.settings.CosmosDB.Used() {
		checks = append(checks, check{"cosmosDB", a.database.Ping})
	}
	return checks
}

// checkEventHubs reads the properties of the hub.
func (a *adapters) checkEventHubs(ctx context.Context) (err error) {
	producer, err := messaging.OpenProducer(a.eventHubs, a.settings.EventHub, messaging.Options{Retries: -1})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, producer.Close(ctx)) }()
	_, err = producer.Partitions(ctx)
	return err
}

// checkServiceBus opens a link to each queue, which tells whether the queue is
// there and whether this app may send to it.
func (a *adapters) checkServiceBus(ctx context.Context) (err error) {
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}}
	var client *azservicebus.Client
	if a.serviceBus.ConnectionString != "" {
		client, err = azservicebus.NewClientFromConnectionString(a.serviceBus.ConnectionString, options)
	} else {
		client, err = azservicebus.NewClient(a.serviceBus.Namespace, a.serviceBus.Credential, options)
	}
	if err != nil {
		return fmt.Errorf("open Service Bus: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close(ctx)) }()
	for _, queue := range []string{a.settings.TransactionsQueue, a.settings.CompensationsQueue, a.settings.NotificationsQueue} {
		sender, err := client.NewSender(queue, nil)
		if err != nil {
			return fmt.Errorf("open queue %s: %w", queue, err)
		}
		if _, err := sender.NewMessageBatch(ctx, nil); err != nil {
			return fmt.Errorf("open queue %s: %w", queue, err)
		}
	}
	return nil
}
