// Everything that the business runs on in Azure: two Flex Consumption apps from
// one package, Event Hubs, Service Bus, Cosmos DB, storage and monitoring. No
// service is reached with a key: all take tokens of the apps' identities only,
// each with the least roles on the entities that it uses. The vault has what makes
// ids and signs notices, and the backends' function key where authMode is keys.
//
// azd provision deploys it, azd down --purge removes it all, the vault too.
//
// With stamp work it is a further shard of another environment: a hub, queues, a
// database and the app that works on them, for that one's front and with its
// backends (docs/scale.md).

targetScope = 'subscription'

import { roles } from 'modules/roles.bicep'
import { sizes } from 'sizes.bicep'

@minLength(1)
@maxLength(64)
@description('Name of the azd environment; part of all names.')
param environmentName string

@minLength(1)
@metadata({ azd: { type: 'location' } })
@description('Region of everything. It must have Flex Consumption.')
param location string

@description('The deploying identity, which gets the data roles of the apps for debugging; empty: none.')
param principalId string = ''

@allowed(['User', 'Group', 'ServicePrincipal'])
param principalType string = 'User'

@allowed(['small', 'standard', 'large'])
@description('The size: see sizes.bicep and docs/capacity.md.')
param size string = 'small'

@allowed(['', 'work'])
@description('Empty: the whole system. work: a further shard of another environment.')
param stamp string = ''

@minValue(1)
@maxValue(65535)
@description('The number that the map of the shards has for it. For work, from 2.')
param shard int = 1

@description('Principal id of the identity of the front, which sends to this hub and reads what became of it. For work.')
param frontPrincipalId string = ''

@description('URL of the backends\' app in the other environment. For work.')
param backendsUrl string = ''

@description('Changes to the size, in its form, such as { workflow: { maximumInstanceCount: 100 } }.')
param overrides object = {}

@allowed(['entra', 'keys'])
@description('How callers identify themselves: by Entra ID tokens, or by function keys.')
param authMode string = 'entra'

@description('Entra ID tenant of the callers; empty: the tenant of the subscription.')
param authTenantId string = ''

@description('Client id of the workflow\'s app registration, for which callers get tokens. For entra.')
param workflowAuthClientId string = ''

@description('Client id of the app registration of the backends. For entra.')
param backendsAuthClientId string = ''

@secure()
@description('The function key that the workflow sends to the backends. For keys.')
param backendsKey string = ''

@description('Private endpoints for storage, Event Hubs, Service Bus and Cosmos DB, and no public access to them. The subscription must have the provider Microsoft.App registered.')
param vnetEnabled bool = false

@description('Send the handler\'s traces and metrics to Azure Monitor by OTLP. A preview of Azure Monitor: set it to false where it is not available.')
param otlpIngestion bool = true

@description('Mail address for alerts; empty: alerts show only in the portal.')
param alertEmail string = ''

@description('Address that hears of each transaction that comes to rest; empty: no news. docs/notifications.md.')
param notifyUrl string = ''

@secure()
@description('The key that signs these notices: whsk_ and 32 bytes in base64.')
param notifySigningKey string = ''

@secure()
@description('The previous key, while receivers learn the new one.')
param notifySigningKeyPrevious string = ''

@description('Server of mail to people who asked to be told, such as smtp://mail.example.com:587; empty: no mail. docs/notifications.md.')
param smtpUrl string = ''

@description('Who signs in there; empty: nobody.')
param smtpUser string = ''

@secure()
@description('The password of that user.')
param smtpPassword string = ''

@description('The sender of the mail.')
param mailFrom string = ''

@description('The token\'s claim with the accounts on which its bearer may act; none: any account.')
param authAccountClaim string = 'oid'

@secure()
@description('The keys that sign minted ids: ID_KEYS in docs/settings.md. The hook "keys" makes the first.')
param idKeys string = ''

@minValue(0)
@description('Requests per second that one caller may send to the HTTP functions of one instance; 0: no limit.')
param rateLimitPerSecond int = 0

@minValue(1)
@description('Requests at once above that.')
param rateLimitBurst int = 100

var hubName = 'requests'
var consumerGroup = 'relay' // of the trigger; Relay also reads $Default, which is always there
var tailGroup = 'tail' // of people who read beside it: ops tail
var transactionsQueue = 'transactions'
var compensationsQueue = 'compensations'
var notificationsQueue = 'notifications'
var queueNames = [transactionsQueue, compensationsQueue, notificationsQueue]
var databaseName = 'fabrikam'
var packageContainers = { workflow: 'app-package-workflow', backends: 'app-package-backends' }

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = { 'azd-env-name': environmentName }
var chosen = union(sizes[size], overrides)
var notifies = !empty(notifyUrl)
var notifiesWithPrevious = notifies && !empty(notifySigningKeyPrevious)
var mails = !empty(smtpUrl)
var mailsWithPassword = mails && !empty(smtpUser)
var entra = authMode == 'entra'
var whole = empty(stamp)
var hasSecrets = whole || notifies || mailsWithPassword || !entra

// Evaluated where they are used, so that a deployment that lacks one stops.
var workflowClientId = entra && empty(workflowAuthClientId) ? fail('authMode is entra and workflowAuthClientId is empty: run "go run ./infra/hooks auth", which makes the app registrations, or set WORKFLOW_AUTH_CLIENT_ID with azd env set; or choose AUTH_MODE=keys') : workflowAuthClientId
var backendsClientId = entra && empty(backendsAuthClientId) ? fail('authMode is entra and backendsAuthClientId is empty: run "go run ./infra/hooks auth", which makes the app registrations, or set BACKENDS_AUTH_CLIENT_ID with azd env set; or choose AUTH_MODE=keys') : backendsAuthClientId
var knownIdKeys = whole && empty(idKeys) ? fail('idKeys is empty: run "go run ./infra/hooks keys", which makes a key, or set ID_KEYS with azd env set') : idKeys
var functionKey = !entra && empty(backendsKey) ? fail('authMode is keys and backendsKey is empty: run "go run ./infra/hooks keys", which makes one, or set BACKENDS_KEY with azd env set') : backendsKey
var knownFront = !whole && empty(frontPrincipalId) ? fail('stamp is work and frontPrincipalId is empty: set FRONT to the azd environment of the front, with azd env set, and run "go run ./infra/hooks join"') : frontPrincipalId
var knownBackends = !whole && empty(backendsUrl) ? fail('stamp is work and backendsUrl is empty: set FRONT to the azd environment of the front, with azd env set, and run "go run ./infra/hooks join"') : backendsUrl
var knownShard = !whole && shard == 1 ? fail('stamp is work and shard is 1, which is the front: set SHARD, with azd env set, to the number that the map will have for it') : shard
var inNetwork = !whole && vnetEnabled ? fail('stamp is work and vnetEnabled is true: the front is not in the network of a stamp, and could not reach it; set VNET_ENABLED to false') : vnetEnabled
var signingKey = notifies && empty(notifySigningKey) ? fail('notifyUrl is set and notifySigningKey is not: set NOTIFY_SIGNING_KEY, so that the receiver can tell who sends') : notifySigningKey

var sender = mails && empty(mailFrom) ? fail('smtpUrl is set and mailFrom is not: set MAIL_FROM to the sender of the mail') : mailFrom
var mailPassword = mailsWithPassword && empty(smtpPassword) ? fail('smtpUser is set and smtpPassword is not: set SMTP_PASSWORD') : smtpPassword

var issuer = '${environment().authentication.loginEndpoint}${empty(authTenantId) ? tenant().tenantId : authTenantId}/v2.0'

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environmentName}'
  location: location
  tags: tags
}

module workflowIdentity 'modules/identity.bicep' = {
  scope: group
  name: 'workflow-identity'
  params: { name: 'id-workflow-${token}', location: location, tags: tags }
}

module backendsIdentity 'modules/identity.bicep' = if (whole) {
  scope: group
  name: 'backends-identity'
  params: { name: 'id-backends-${token}', location: location, tags: tags }
}

var appPrincipalIds = concat([workflowIdentity.outputs.principalId], whole ? [backendsIdentity!.outputs.principalId] : [])
var developerIds = empty(principalId) ? [] : [principalId]

module monitoring 'modules/monitoring.bicep' = {
  scope: group
  name: 'monitoring'
  params: {
    location: location
    tags: tags
    workspaceName: 'log-${token}'
    applicationInsightsName: 'appi-${token}'
    publisherIds: appPrincipalIds
  }
}

module otlp 'modules/otlp.bicep' = if (otlpIngestion) {
  scope: group
  name: 'otlp'
  params: {
    location: location
    tags: tags
    monitorWorkspaceName: 'amw-${token}'
    endpointName: 'dce-${token}'
    ruleName: 'dcr-${token}'
    workspaceId: monitoring.outputs.workspaceId
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    publisherIds: appPrincipalIds
  }
}

var monitorWorkspaceId = otlpIngestion ? otlp!.outputs.monitorWorkspaceId : ''

// Storage Blob Data Owner on the account is what a host needs at least (Microsoft
// Learn, "Connecting to host storage with an identity"); it includes the package.
module storage 'modules/storage.bicep' = {
  scope: group
  name: 'storage'
  params: {
    name: 'st${token}'
    location: location
    tags: tags
    zoneRedundant: chosen.zoneRedundant
    publicAccess: !inNetwork
    containers: concat([packageContainers.workflow], whole ? [packageContainers.backends] : [])
    access: concat(
      map(appPrincipalIds, id => { principalId: id, principalType: 'ServicePrincipal', role: roles.storageBlobDataOwner }),
      map(developerIds, id => { principalId: id, principalType: principalType, role: roles.storageBlobDataOwner })
    )
  }
}

module eventHubs 'modules/eventhubs.bicep' = {
  scope: group
  name: 'event-hubs'
  params: {
    name: 'evhns-${token}'
    location: location
    tags: tags
    sku: chosen.eventHubs.sku
    units: chosen.eventHubs.units
    maximumUnits: chosen.eventHubs.maximumUnits
    publicAccess: !inNetwork
    hubs: [
      { name: hubName, partitions: chosen.eventHubs.partitions, retentionHours: 168, consumerGroups: [consumerGroup, tailGroup] }
    ]
    access: concat(
      [
        { principalId: whole ? workflowIdentity.outputs.principalId : knownFront, principalType: 'ServicePrincipal', role: roles.eventHubsDataSender }
        { principalId: workflowIdentity.outputs.principalId, principalType: 'ServicePrincipal', role: roles.eventHubsDataReceiver }
      ],
      map(developerIds, id => { principalId: id, principalType: principalType, role: roles.eventHubsDataSender }),
      map(developerIds, id => { principalId: id, principalType: principalType, role: roles.eventHubsDataReceiver })
    )
  }
}

// Sender and Receiver are what the functions do. Owner is the one role beyond
// that: target-based scaling asks for the length of the queue, which takes Manage
// (Microsoft Learn, "Target-based scaling", and "Scaling permissions" of the
// Service Bus trigger); with less it falls back to peeking, and scales late.
module serviceBus 'modules/servicebus.bicep' = {
  scope: group
  name: 'service-bus'
  params: {
    name: 'sbns-${token}'
    location: location
    tags: tags
    sku: inNetwork ? 'Premium' : chosen.serviceBus.sku // Standard has no private endpoints
    messagingUnits: chosen.serviceBus.messagingUnits
    publicAccess: !inNetwork
    queues: map(queueNames, queue => {
      name: queue
      lockDuration: 'PT1M'
      timeToLive: 'P${chosen.lifetimes.queueDays}D'
      duplicateWindow: 'PT10M'
      maxDeliveryCount: 10
      maxMegabytes: chosen.serviceBus.maxMegabytes
    })
    access: concat(
      [
        { principalId: workflowIdentity.outputs.principalId, principalType: 'ServicePrincipal', role: roles.serviceBusDataSender }
        { principalId: workflowIdentity.outputs.principalId, principalType: 'ServicePrincipal', role: roles.serviceBusDataReceiver }
        { principalId: workflowIdentity.outputs.principalId, principalType: 'ServicePrincipal', role: roles.serviceBusDataOwner }
      ],
      map(developerIds, id => { principalId: id, principalType: principalType, role: roles.serviceBusDataSender }),
      map(developerIds, id => { principalId: id, principalType: principalType, role: roles.serviceBusDataReceiver })
    )
  }
}

module cosmos 'modules/cosmos.bicep' = {
  scope: group
  name: 'cosmos'
  params: {
    name: 'cosmos-${token}'
    location: location
    tags: tags
    serverless: chosen.cosmos.serverless
    throughput: chosen.cosmos.throughput
    zoneRedundant: chosen.zoneRedundant
    publicAccess: !inNetwork
    databaseName: databaseName
    users: whole ? ['workflow', 'backends'] : ['workflow', 'front']
    principalIds: {
      workflow: workflowIdentity.outputs.principalId
      backends: whole ? backendsIdentity!.outputs.principalId : ''
      front: whole ? '' : knownFront
    }
    developerId: principalId
  }
}

module vault 'modules/keyvault.bicep' = if (hasSecrets) {
  scope: group
  name: 'vault'
  params: {
    name: 'kv-${token}'
    location: location
    tags: tags
    hasIdKeys: whole // a stamp mints and verifies none
    idKeys: knownIdKeys
    hasSigningKey: notifies
    signingKey: signingKey
    hasPreviousKey: notifiesWithPrevious
    previousSigningKey: notifySigningKeyPrevious
    hasMailPassword: mailsWithPassword
    mailPassword: mailPassword
    hasBackendsKey: !entra
    backendsKey: functionKey
    readerId: workflowIdentity.outputs.principalId
  }
}

module network 'modules/network.bicep' = if (inNetwork) {
  scope: group
  name: 'network'
  params: {
    location: location
    tags: tags
    token: token
    targets: [
      { name: 'blob', id: storage.outputs.id, groupId: 'blob', zone: 'blob' }
      { name: 'queue', id: storage.outputs.id, groupId: 'queue', zone: 'queue' }
      { name: 'table', id: storage.outputs.id, groupId: 'table', zone: 'table' }
      { name: 'event-hubs', id: eventHubs.outputs.id, groupId: 'namespace', zone: 'bus' }
      { name: 'service-bus', id: serviceBus.outputs.id, groupId: 'namespace', zone: 'bus' }
      { name: 'cosmos', id: cosmos.outputs.id, groupId: 'Sql', zone: 'cosmos' }
    ]
  }
}

module apps 'modules/apps.bicep' = {
  scope: group
  name: 'apps'
  params: {
    location: location
    tags: tags
    token: token
    environmentName: environmentName
    sizing: chosen
    identities: {
      workflow: {
        id: workflowIdentity.outputs.id
        clientId: workflowIdentity.outputs.clientId
        principalId: workflowIdentity.outputs.principalId
      }
      backends: {
        id: whole ? backendsIdentity!.outputs.id : ''
        clientId: whole ? backendsIdentity!.outputs.clientId : ''
        principalId: whole ? backendsIdentity!.outputs.principalId : ''
      }
    }
    auth: {
      mode: authMode
      issuer: issuer
      accountClaim: authAccountClaim
      workflowClientId: workflowClientId
      backendsClientId: backendsClientId
    }
    rateLimit: { perSecond: rateLimitPerSecond, burst: rateLimitBurst }
    storage: storage.outputs.endpoints
    packageContainers: packageContainers
    subnetIds: inNetwork ? network!.outputs.subnetIds : { workflow: '', backends: '' }
    applicationInsightsConnectionString: monitoring.outputs.connectionString
    otlp: {
      enabled: otlpIngestion
      tracesUrl: otlpIngestion ? otlp!.outputs.tracesUrl : ''
      metricsUrl: otlpIngestion ? otlp!.outputs.metricsUrl : ''
    }
    entities: {
      cosmosEndpoint: cosmos.outputs.endpoint
      database: databaseName
      eventHubsNamespace: eventHubs.outputs.fullyQualifiedNamespace
      hub: hubName
      consumerGroup: consumerGroup
      serviceBusNamespace: serviceBus.outputs.fullyQualifiedNamespace
      transactionsQueue: transactionsQueue
      compensationsQueue: compensationsQueue
      notificationsQueue: notificationsQueue
    }
    stamp: { shard: knownShard, backendsUrl: whole ? '' : knownBackends }
    idKeys: whole ? vault!.outputs.idKeysReference : ''
    backendsKey: hasSecrets ? vault!.outputs.backendsKeyReference : ''
    notify: {
      enabled: notifies
      url: notifyUrl
      signingKey: hasSecrets ? vault!.outputs.signingKeyReference : ''
      hasPreviousKey: notifiesWithPrevious
      previousSigningKey: hasSecrets ? vault!.outputs.previousSigningKeyReference : ''
    }
    mail: {
      enabled: mails
      url: smtpUrl
      from: sender
      user: smtpUser
      password: hasSecrets ? vault!.outputs.mailPasswordReference : ''
    }
  }
}

module alerts 'modules/alerts.bicep' = {
  scope: group
  name: 'alerts'
  params: {
    location: location
    tags: tags
    namePrefix: token
    actionGroupEmail: alertEmail
    workspaceId: monitoring.outputs.workspaceId
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    monitorWorkspaceId: monitorWorkspaceId
    eventHubNamespaceId: eventHubs.outputs.id
    hubNames: [hubName]
    serviceBusNamespaceId: serviceBus.outputs.id
    queueNames: queueNames
    cosmosAccountId: cosmos.outputs.id
    storageAccountId: storage.outputs.id
    workflowAppId: apps.outputs.workflowId
    hasBackends: whole
    backendsAppId: apps.outputs.backendsId
  }
}

module workbook 'modules/workbook.bicep' = {
  scope: group
  name: 'workbook'
  params: {
    location: location
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    applicationInsightsId: monitoring.outputs.applicationInsightsId
    monitorWorkspaceId: monitorWorkspaceId
    eventHubNamespaceId: eventHubs.outputs.id
    serviceBusNamespaceId: serviceBus.outputs.id
    cosmosAccountId: cosmos.outputs.id
  }
}

// azd keeps these in .azure/<environment>/.env; infra/hooks reads them.
output AZURE_LOCATION string = location
output AZURE_TENANT_ID string = tenant().tenantId
output AZURE_RESOURCE_GROUP string = group.name
output AUTH_MODE string = authMode
output WORKFLOW_AUDIENCE string = entra ? 'api://${workflowClientId}' : ''
output BACKENDS_AUDIENCE string = entra ? 'api://${backendsClientId}' : ''
output WORKFLOW_IDENTITY_PRINCIPAL_ID string = workflowIdentity.outputs.principalId
output BACKENDS_IDENTITY_PRINCIPAL_ID string = whole ? backendsIdentity!.outputs.principalId : ''
output WORKFLOW_APP_NAME string = apps.outputs.workflowName
output WORKFLOW_URL string = apps.outputs.workflowUrl
output BACKENDS_APP_NAME string = apps.outputs.backendsName
output BACKENDS_URL string = apps.outputs.backendsUrl
output EVENTHUBS_NAMESPACE string = eventHubs.outputs.fullyQualifiedNamespace
output SERVICEBUS_NAMESPACE string = serviceBus.outputs.fullyQualifiedNamespace
output COSMOSDB_ENDPOINT string = cosmos.outputs.endpoint
output STORAGE_ACCOUNT_NAME string = storage.outputs.name
output STORAGE_BLOB_ENDPOINT string = storage.outputs.endpoints.blob
output WORKFLOW_DEPLOYMENT_CONTAINER string = packageContainers.workflow
output BACKENDS_DEPLOYMENT_CONTAINER string = whole ? packageContainers.backends : ''
output APPLICATIONINSIGHTS_CONNECTION_STRING string = monitoring.outputs.connectionString
