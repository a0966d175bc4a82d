// The virtual network: a subnet for each app to call out from, one for the
// private endpoints, and the DNS zones by which these are found.

param location string
param tags object
@description('Part of the names.')
param token string
@description('What the private endpoints lead to.')
param targets target[]

type target = {
  name: string
  id: string
  @description('The part of the target (Microsoft Learn, "What is a private endpoint?", Private-link resource).')
  groupId: string
  @description('A key of zoneNames.')
  zone: string
}

// Microsoft Learn, "Azure Private Endpoint private DNS zone values". Event Hubs
// and Service Bus share a zone.
var zoneNames = {
  blob: 'privatelink.blob.${environment().suffixes.storage}'
  queue: 'privatelink.queue.${environment().suffixes.storage}'
  table: 'privatelink.table.${environment().suffixes.storage}'
  bus: 'privatelink.servicebus.windows.net'
  cosmos: 'privatelink.documents.azure.com'
}

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
  name: 'vnet-${token}'
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.0.0.0/16'] }
    subnets: [
      {
        name: 'workflow'
        properties: {
          addressPrefix: '10.0.0.0/24'
          delegations: [{ name: 'flex', properties: { serviceName: 'Microsoft.App/environments' } }]
        }
      }
      {
        name: 'backends'
        properties: {
          addressPrefix: '10.0.1.0/24'
          delegations: [{ name: 'flex', properties: { serviceName: 'Microsoft.App/environments' } }]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.0.2.0/24'
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [for zone in items(zoneNames): {
  name: zone.value
  location: 'global'
  tags: tags
}]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (zone, i) in items(zoneNames): {
  parent: zones[i]
  name: 'link'
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: { id: network.id }
  }
}]

module endpoints 'privateendpoint.bicep' = [for target in targets: {
  name: 'private-${target.name}'
  params: {
    name: 'pep-${target.name}-${token}'
    location: location
    tags: tags
    subnetId: '${network.id}/subnets/endpoints'
    targetId: target.id
    groupId: target.groupId
    zoneId: resourceId('Microsoft.Network/privateDnsZones', zoneNames[target.zone])
  }
  dependsOn: [links]
}]

output subnetIds { workflow: string, backends: string } = {
  workflow: '${network.id}/subnets/workflow'
  backends: '${network.id}/subnets/backends'
}
