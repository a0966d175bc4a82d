// One queue. A role on it holds for its dead-letter sub-queue, too.

import { grant } from 'roles.bicep'

@export()
type queueSpec = {
  name: string
  @description('Durations are in ISO 8601.')
  lockDuration: string
  timeToLive: string
  duplicateWindow: string
  maxDeliveryCount: int
  maxMegabytes: int
}

param namespaceName string
param queue queueSpec
param access grant[]

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource serviceBusQueue 'Microsoft.ServiceBus/namespaces/queues@2024-01-01' = {
  parent: namespace
  name: queue.name
  properties: {
    lockDuration: queue.lockDuration
    defaultMessageTimeToLive: queue.timeToLive
    deadLetteringOnMessageExpiration: true
    requiresDuplicateDetection: true
    duplicateDetectionHistoryTimeWindow: queue.duplicateWindow
    maxDeliveryCount: queue.maxDeliveryCount
    maxSizeInMegabytes: queue.maxMegabytes
    enablePartitioning: false
  }
}

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for a in access: {
  scope: serviceBusQueue
  name: guid(serviceBusQueue.id, a.principalId, a.role)
  properties: {
    principalId: a.principalId
    principalType: a.principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', a.role)
  }
}]
