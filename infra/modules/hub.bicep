// One event hub, with a consumer group for each reader besides $Default, which
// every hub has.

import { grant } from 'roles.bicep'

@export()
type hubSpec = {
  name: string
  @description('Standard: 1 to 32, for good. Premium: up to 100, and never fewer.')
  partitions: int
  retentionHours: int
  consumerGroups: string[]
}

param namespaceName string
param hub hubSpec
param access grant[]

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource eventHub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' = {
  parent: namespace
  name: hub.name
  properties: {
    partitionCount: hub.partitions
    retentionDescription: {
      cleanupPolicy: 'Delete'
      retentionTimeInHours: hub.retentionHours
    }
  }
}

resource groups 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = [for group in hub.consumerGroups: {
  parent: eventHub
  name: group
}]

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for a in access: {
  scope: eventHub
  name: guid(eventHub.id, a.principalId, a.role)
  properties: {
    principalId: a.principalId
    principalType: a.principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', a.role)
  }
}]
