// The two apps, and of a stamp the one: one package, which functions of it run
// where, and the settings of each. docs/settings.md says what the handler makes of them.

import { size } from '../sizes.bicep'

param location string
param tags object
@description('Part of the names.')
param token string
param environmentName string
param sizing size
param identities { workflow: identity, backends: identity }
param auth authentication
param rateLimit { perSecond: int, burst: int }
param storage { blob: string, queue: string, table: string }
param packageContainers { workflow: string, backends: string }
@description('Subnets for outgoing calls; empty: no virtual network.')
param subnetIds { workflow: string, backends: string }
param applicationInsightsConnectionString string
@description('OTLP endpoints for the handler\'s telemetry.')
param otlp { enabled: bool, tracesUrl: string, metricsUrl: string }
param entities entityNames
@description('The shard, and where the backends are, if not here.')
param stamp { shard: int, backendsUrl: string }
@description('The keys that sign minted ids, as a Key Vault reference.')
param idKeys string
@description('The function key of the backends for authMode keys, as a Key Vault reference.')
param backendsKey string
@description('The receiver of news of transactions that come to rest. The keys are Key Vault references.')
param notify { enabled: bool, url: string, signingKey: string, hasPreviousKey: bool, previousSigningKey: string }

@description('The server of mail to people who asked to be told. The password is a Key Vault reference.')
param mail { enabled: bool, url: string, from: string, user: string, password: string }

type identity = {
  id: string
  clientId: string
  principalId: string
}

type authentication = {
  mode: 'entra' | 'keys'
  issuer: string
  @description('The claim that names the accounts of a caller.')
  accountClaim: string
  workflowClientId: string
  backendsClientId: string
}

type entityNames = {
  cosmosEndpoint: string
  database: string
  eventHubsNamespace: string
  hub: string
  consumerGroup: string
  serviceBusNamespace: string
  transactionsQueue: string
  compensationsQueue: string
  notificationsQueue: string
}

var business = loadJsonContent('../business.json')
// Live and Ready are in both.
// Requests come to the front; operators ask each shard's app.
var whole = empty(stamp.backendsUrl)
var frontFunctions = ['Ingest', 'Progress']
var workflowFunctions = filter(business.functions.workflow, name => whole || !contains(frontFunctions, name))
var backendsFunctions = business.functions.backends

var entra = auth.mode == 'entra'
// Tokens of version 2 name the client id, those of version 1 the URI.
var workflowAudiences = entra ? ['api://${auth.workflowClientId}', auth.workflowClientId] : []
var backendsAudiences = entra ? ['api://${auth.backendsClientId}', auth.backendsClientId] : []

// One endpoint per signal: with OTEL_EXPORTER_OTLP_ENDPOINT the host would send
// there, too, without a token. Azure Monitor wants exponential histograms.
var otlpSettings = otlp.enabled ? {
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: otlp.tracesUrl
  OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: otlp.metricsUrl
  OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION: 'base2_exponential_bucket_histogram'
  OTLP_AUTH_SCOPE: 'https://monitor.azure.com/.default'
} : {}
// The names of entities and the schedule are in both apps: the host resolves the
// settings in a function.json of a disabled function as well.
var commonSettings = union({
  AUTH_MODE: auth.mode
  EVENTHUB_NAME: entities.hub
  EVENTHUB_CONSUMER_GROUP: entities.consumerGroup
  TRANSACTIONS_QUEUE: entities.transactionsQueue
  COMPENSATIONS_QUEUE: entities.compensationsQueue
  NOTIFICATIONS_QUEUE: entities.notificationsQueue
  SWEEP_SCHEDULE: '*/30 * * * * *'
  CosmosDB__accountEndpoint: entities.cosmosEndpoint
  CosmosDB__credential: 'managedidentity'
  COSMOSDB_DATABASE: entities.database
  DOCUMENT_TTL_DAYS: string(sizing.lifetimes.documentDays)
  LOG_LEVEL: sizing.logLevel
  PICKUP_HORIZON_DAYS: string(sizing.lifetimes.pickupDays)
  QUEUE_TTL_HOURS: string(sizing.lifetimes.queueDays * 24)
  OTEL_RESOURCE_ATTRIBUTES: 'service.namespace=${business.name},deployment.environment.name=${environmentName}'
  OTEL_TRACES_SAMPLER: 'microsoft.fixed_percentage' // the host's
  OTEL_TRACES_SAMPLER_ARG: sizing.traceRatio
  TRACE_RATIO: sizing.traceRatio // the handler's
}, entra ? { AUTH_ISSUER: auth.issuer } : {}, otlpSettings)

module backends 'functionapp.bicep' = if (whole) {
  name: 'backends'
  params: {
    location: location
    tags: tags
    serviceName: 'backends'
    appName: 'func-backends-${token}'
    planName: 'plan-backends-${token}'
    size: sizing.backends
    zoneRedundant: sizing.zoneRedundant
    updateStrategy: sizing.updateStrategy
    identityId: identities.backends.id
    identityClientId: identities.backends.clientId
    disabledFunctions: filter(workflowFunctions, name => !contains(backendsFunctions, name))
    packageContainer: packageContainers.backends
    storage: storage
    applicationInsightsConnectionString: applicationInsightsConnectionString
    subnetId: subnetIds.backends
    auth: { enabled: entra, issuer: auth.issuer, clientId: auth.backendsClientId, audiences: backendsAudiences }
    settings: union(commonSettings, {
      CosmosDB__clientId: identities.backends.clientId
      FLEET_DRONES: string(sizing.fleet.drones)
      FLEET_ZONES: string(sizing.fleet.zones)
      FLIGHT_TIME_SCALE: sizing.fleet.timeScale
      OTEL_SERVICE_NAME: 'backends'
    }, entra ? {
      AUTH_AUDIENCE: join(backendsAudiences, ',')
    } : {}, otlp.enabled ? {
      OTLP_CLIENT_ID: identities.backends.clientId
    } : {})
  }
}

var backendsBase = whole ? backends!.outputs.url : stamp.backendsUrl
var backendsApi = '${backendsBase}/api'
var backendSettings = entra ? {
  AUTH_AUDIENCE: join(workflowAudiences, ',')
  AUTH_ACCOUNT_CLAIM: auth.accountClaim
  BACKEND_AUDIENCE: 'api://${auth.backendsClientId}'
  BACKEND_CLIENT_ID: identities.workflow.clientId
} : {
  BACKEND_KEY: backendsKey
}
var notifySettings = notify.enabled ? union({
  NOTIFY_URL: notify.url
  NOTIFY_SIGNING_KEY: notify.signingKey
}, notify.hasPreviousKey ? {
  NOTIFY_SIGNING_KEY_PREVIOUS: notify.previousSigningKey
} : {}) : {}
var mailSettings = mail.enabled ? union({
  SMTP_URL: mail.url
  MAIL_FROM: mail.from
}, empty(mail.user) ? {} : {
  SMTP_USER: mail.user
  SMTP_PASSWORD: mail.password
}) : {}
var rateSettings = rateLimit.perSecond == 0 ? {} : {
  RATE_LIMIT_PER_SECOND: string(rateLimit.perSecond)
  RATE_LIMIT_BURST: string(rateLimit.burst)
}

module workflow 'functionapp.bicep' = {
  name: 'workflow'
  params: {
    location: location
    tags: tags
    serviceName: 'workflow'
    appName: 'func-workflow-${token}'
    planName: 'plan-workflow-${token}'
    size: whole ? sizing.workflow : union(sizing.workflow, { alwaysReady: filter(sizing.workflow.alwaysReady, group => group.name != 'http') })
    zoneRedundant: sizing.zoneRedundant
    updateStrategy: sizing.updateStrategy
    identityId: identities.workflow.id
    identityClientId: identities.workflow.clientId
    disabledFunctions: filter(union(backendsFunctions, business.functions.workflow), name => !contains(workflowFunctions, name))
    packageContainer: packageContainers.workflow
    storage: storage
    applicationInsightsConnectionString: applicationInsightsConnectionString
    subnetId: subnetIds.workflow
    auth: { enabled: entra, issuer: auth.issuer, clientId: auth.workflowClientId, audiences: workflowAudiences }
    settings: union(commonSettings, whole ? { ID_KEYS: idKeys } : { SHARD: string(stamp.shard) }, {
      CosmosDB__clientId: identities.workflow.clientId
      EventHubs__fullyQualifiedNamespace: entities.eventHubsNamespace
      EventHubs__credential: 'managedidentity'
      EventHubs__clientId: identities.workflow.clientId
      ServiceBus__fullyQualifiedNamespace: entities.serviceBusNamespace
      ServiceBus__credential: 'managedidentity'
      ServiceBus__clientId: identities.workflow.clientId
      OTEL_SERVICE_NAME: 'workflow'
    }, toObject(business.backends, name => name, name => backendsApi), backendSettings, notifySettings, mailSettings, rateSettings, otlp.enabled ? {
      OTLP_CLIENT_ID: identities.workflow.clientId
    } : {})
  }
}

output workflowId string = workflow.outputs.id
output workflowName string = workflow.outputs.name
output workflowUrl string = workflow.outputs.url
output backendsId string = whole ? backends!.outputs.id : ''
output backendsName string = whole ? backends!.outputs.name : ''
output backendsUrl string = backendsBase
