// The Service Bus namespace with its queues.

import { grant } from 'roles.bicep'
import { queueSpec } from 'queue.bicep'

param name string
param location string
param tags object
@allowed(['Standard', 'Premium'])
param sku string
@description('Messaging units. Premium only.')
@allowed([1, 2, 4, 8, 16])
param messagingUnits int
@description('False: private endpoints only, which takes Premium.')
param publicAccess bool
param queues queueSpec[]
@description('Who may do what on every queue.')
param access grant[]

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: sku == 'Premium' ? { name: sku, tier: sku, capacity: messagingUnits } : { name: sku, tier: sku }
  properties: union({
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
  }, sku == 'Premium' ? { premiumMessagingPartitions: 1 } : {})
}

module each 'queue.bicep' = [for q in queues: {
  name: 'queue-${q.name}'
  params: {
    namespaceName: namespace.name
    queue: q
    access: access
  }
}]

output id string = namespace.id
output fullyQualifiedNamespace string = '${namespace.name}.servicebus.windows.net'
