// Package servicebus sends messages to Azure Service Bus queues.
package servicebus
