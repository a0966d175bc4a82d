// Package eventhubs puts events into an Azure Event Hubs hub (Producer), and
// reads again what the trigger has skipped (Reader).
package eventhubs
