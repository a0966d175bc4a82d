// What the hosts of both apps keep: keys, timers' state, Event Hubs checkpoints,
// and each app's package in a container of its own.

import { grant } from 'roles.bicep'

param name string
param location string
param tags object
param zoneRedundant bool
@description('False: private endpoints only.')
param publicAccess bool
@description('The containers with the packages.')
param containers string[]
param access grant[]

resource account 'Microsoft.Storage/storageAccounts@2024-01-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: { name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS' }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: publicAccess ? 'Allow' : 'Deny'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' = {
  parent: account
  name: 'default'
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' = [for container in containers: {
  parent: blobs
  name: container
}]

resource assignments 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for a in access: {
  scope: account
  name: guid(account.id, a.principalId, a.role)
  properties: {
    principalId: a.principalId
    principalType: a.principalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', a.role)
  }
}]

output id string = account.id
output name string = account.name
output endpoints { blob: string, queue: string, table: string } = {
  blob: account.properties.primaryEndpoints.blob
  queue: account.properties.primaryEndpoints.queue
  table: account.properties.primaryEndpoints.table
}
