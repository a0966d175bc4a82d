package host

import (
	"fmt"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
)

// eventHubsClient connects a trigger to its hub. owner names this consumer.
func (h *Host) eventHubsClient(t config.Trigger, owner string) (*azeventhubs.ConsumerClient, error) {
	retry := h.app.Host.EventHubs.ClientRetry
	options := &azeventhubs.ConsumerClientOptions{InstanceID: owner, RetryOptions: azeventhubs.RetryOptions{
		MaxRetries: int32(retry.MaxRetries), RetryDelay: retry.Delay, MaxRetryDelay: retry.MaxDelay,
	}}
	if t.Connection.String == "" {
		credential, err := h.credential(t.Connection)
		if err != nil {
			return nil, err
		}
		return azeventhubs.NewConsumerClient(t.Connection.FullyQualifiedNamespace, t.EventHubName, t.ConsumerGroup, credential, options)
	}
	props, err := azeventhubs.ParseConnectionString(t.Connection.String)
	if err != nil {
		return nil, err
	}
	hub := t.EventHubName
	if props.EntityPath != nil {
		hub = "" // the SDK wants it in one place only
	}
	return azeventhubs.NewConsumerClientFromConnectionString(t.Connection.String, hub, t.ConsumerGroup, options)
}

// serviceBusClient connects a trigger to its namespace.
func (h *Host) serviceBusClient(t config.Trigger) (*azservicebus.Client, error) {
	retry := h.app.Host.ServiceBus.ClientRetry
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{
		MaxRetries: int32(retry.MaxRetries), RetryDelay: retry.Delay, MaxRetryDelay: retry.MaxDelay,
	}}
	if t.Connection.String != "" {
		return azservicebus.NewClientFromConnectionString(t.Connection.String, options)
	}
	credential, err := h.credential(t.Connection)
	if err != nil {
		return nil, err
	}
	return azservicebus.NewClient(t.Connection.FullyQualifiedNamespace, credential, options)
}

// serviceBusReceiver opens a trigger's queue or subscription, or its sub-queue.
func serviceBusReceiver(client *azservicebus.Client, t config.Trigger) (*azservicebus.Receiver, error) {
	options := &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModePeekLock, SubQueue: t.SubQueue}
	if t.Queue != "" {
		return client.NewReceiverForQueue(t.Queue, options)
	}
	return client.NewReceiverForSubscription(t.Topic, t.Subscription, options)
}

// credential is the identity of a connection without a connection string.
func (h *Host) credential(c config.Connection) (azcore.TokenCredential, error) {
	if h.cfg.Credential != nil {
		return h.cfg.Credential, nil
	}
	if c.Credential == "" {
		credential, err := azidentity.NewDefaultAzureCredential(&azidentity.DefaultAzureCredentialOptions{TenantID: c.TenantID})
		if err != nil {
			return nil, fmt.Errorf("connection %s: %w", c.Name, err)
		}
		return credential, nil
	}
	var options azidentity.ManagedIdentityCredentialOptions
	if c.ClientID != "" {
		options.ID = azidentity.ClientID(c.ClientID)
	}
	credential, err := azidentity.NewManagedIdentityCredential(&options)
	if err != nil {
		return nil, fmt.Errorf("connection %s: %w", c.Name, err)
	}
	return credential, nil
}
