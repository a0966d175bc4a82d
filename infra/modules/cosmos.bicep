// The Cosmos DB account with the database, its containers and who may use which.
//
// Consistency is Strong: a transaction is read by whoever gets its next message,
// on any instance, and the client for Go (azcosmos 1.5.0) keeps no session
// tokens. In one region Strong has no price but that reads cost twice the
// request units (Microsoft Learn, "Consistency levels in Azure Cosmos DB").

param name string
param location string
param tags object
@description('Serverless: pay by request, no throughput to set (Microsoft Learn, "Azure Cosmos DB serverless account type").')
param serverless bool
@description('Autoscale maximum of each container in RU/s, by name; empty if serverless.')
param throughput object
param zoneRedundant bool
@description('False: private endpoints only.')
param publicAccess bool
param databaseName string
@description('Who uses this account, by the names of principalIds: the containers of an app that does not are not here. front only reads.')
param users string[]
@description('The identities by the app whose containers they use.')
param principalIds appPrincipals
@description('A person who may read and write all containers, for debugging; empty: nobody.')
param developerId string

type appPrincipals = {
  workflow: string
  backends: string
  front: string
}

// What the code uses: go run ./infra/local generate writes the file. ttl: 0 is for
// ever, -1 by the document's own, which counts in place of any other, too.
// indexed are the paths that our queries filter by, besides id and partition
// key; each path more makes each write dearer.
var containers = filter(loadJsonContent('../business.json').containers, c => contains(users, c.app))
var frontReads = contains(users, 'front') ? ['transactions', 'requests'] : [] // operations outside a transaction are in requests

// Cosmos DB Built-in Data Reader and Data Contributor.
var dataReader = '${account.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000001'
var dataContributor = '${account.id}/sqlRoleDefinitions/00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2024-11-15' = {
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      { locationName: location, failoverPriority: 0, isZoneRedundant: zoneRedundant }
    ]
    consistencyPolicy: { defaultConsistencyLevel: 'Strong' }
    capabilities: serverless ? [{ name: 'EnableServerless' }] : []
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: { tier: 'Continuous7Days' }
    }
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
    networkAclBypass: 'None'
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2024-11-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: { id: databaseName }
  }
}

resource sqlContainers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2024-11-15' = [for c in containers: {
  parent: database
  name: c.name
  properties: {
    resource: union({
      id: c.name
      partitionKey: { kind: 'Hash', version: 2, paths: [c.partitionKey] }
      indexingPolicy: {
        indexingMode: 'consistent'
        automatic: true
        includedPaths: map(c.indexed, path => { path: path })
        excludedPaths: [{ path: '/*' }]
      }
    }, c.ttl == 0 ? {} : { defaultTtl: c.ttl })
    options: serverless ? {} : { autoscaleSettings: { maxThroughput: throughput[c.name] } }
  }
}]

// The client reads the account when it starts, and our readiness check reads the
// database; a role on a container alone allows neither (Microsoft Learn, "Azure
// Cosmos DB for NoSQL data plane security reference", readMetadata).
resource metadataReader 'Microsoft.DocumentDB/databaseAccounts/sqlRoleDefinitions@2024-11-15' = {
  parent: account
  name: guid(account.id, 'metadata reader')
  properties: {
    roleName: 'Metadata reader'
    type: 'CustomRole'
    assignableScopes: [account.id]
    permissions: [
      { dataActions: ['Microsoft.DocumentDB/databaseAccounts/readMetadata'] }
    ]
  }
}

// The account takes one assignment at a time.
@batchSize(1)
resource containerAccess 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-11-15' = [for (c, i) in containers: {
  parent: account
  name: guid(account.id, c.name, principalIds[c.app])
  properties: {
    principalId: principalIds[c.app]
    roleDefinitionId: dataContributor
    scope: '${account.id}/dbs/${database.name}/colls/${sqlContainers[i].name}'
  }
}]

@batchSize(1)
resource metadataAccess 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-11-15' = [for who in users: {
  parent: account
  name: guid(account.id, 'metadata', principalIds[who])
  properties: {
    principalId: principalIds[who]
    roleDefinitionId: metadataReader.id
    scope: account.id
  }
  dependsOn: [containerAccess]
}]

@batchSize(1)
resource frontAccess 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-11-15' = [for name in frontReads: {
  parent: account
  name: guid(account.id, name, principalIds.front)
  properties: {
    principalId: principalIds.front
    roleDefinitionId: dataReader
    scope: '${account.id}/dbs/${database.name}/colls/${name}'
  }
  dependsOn: [metadataAccess]
}]

resource developerAccess 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2024-11-15' = if (!empty(developerId)) {
  parent: account
  name: guid(account.id, 'developer', developerId)
  properties: {
    principalId: developerId
    roleDefinitionId: dataContributor
    scope: account.id
  }
  dependsOn: [metadataAccess, frontAccess]
}

output id string = account.id
output endpoint string = account.properties.documentEndpoint
