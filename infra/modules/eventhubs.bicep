// The Event Hubs namespace with its hubs.

import { grant } from 'roles.bicep'
import { hubSpec } from 'hub.bicep'

param name string
param location string
param tags object
@allowed(['Standard', 'Premium'])
param sku string
@description('Throughput units (Standard) or processing units (Premium).')
param units int
@description('Throughput units that the namespace may grow to by itself; 0: it does not. Standard only.')
@minValue(0)
@maxValue(40)
param maximumUnits int
@description('False: private endpoints only.')
param publicAccess bool
param hubs hubSpec[]
@description('Who may do what on every hub.')
param access grant[]

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: { name: sku, tier: sku, capacity: units }
  properties: union({
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
  }, maximumUnits == 0 ? {} : {
    isAutoInflateEnabled: true
    maximumThroughputUnits: maximumUnits
  })
}

module each 'hub.bicep' = [for h in hubs: {
  name: 'hub-${h.name}'
  params: {
    namespaceName: namespace.name
    hub: h
    access: access
  }
}]

output id string = namespace.id
output fullyQualifiedNamespace string = '${namespace.name}.servicebus.windows.net'
