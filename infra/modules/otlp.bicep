// Azure Monitor's own OTLP endpoints: traces go to Log Analytics, metrics to an
// Azure Monitor workspace. A preview: Microsoft Learn, "Ingest OTLP data into
// Azure Monitor with OTel Collector", whose template this data collection rule
// follows. The handler sends there itself, with its identity's token.

import { roles } from 'roles.bicep'

param location string
param tags object
param monitorWorkspaceName string
param endpointName string
param ruleName string
param workspaceId string
param applicationInsightsId string
@description('Who may send telemetry.')
param publisherIds string[]

var metricsStream = 'Custom-Metrics-Otel' // declared by the rule, and named by the endpoint
var metrics = [metricsStream]
var traces = ['Microsoft-OTel-Traces-Spans', 'Microsoft-OTel-Traces-Events', 'Microsoft-OTel-Traces-Resources']

resource monitorWorkspace 'Microsoft.Monitor/accounts@2023-04-03' = {
  name: monitorWorkspaceName
  location: location
  tags: tags
}

resource endpoint 'Microsoft.Insights/dataCollectionEndpoints@2024-03-11' = {
  name: endpointName
  location: location
  tags: tags
  properties: {
    networkAcls: { publicNetworkAccess: 'Enabled' }
  }
}

resource rule 'Microsoft.Insights/dataCollectionRules@2024-03-11' = {
  name: ruleName
  location: location
  tags: tags
  properties: {
    dataCollectionEndpointId: endpoint.id
    references: {
      applicationInsights: [
        { name: 'applicationInsights', resourceId: applicationInsightsId }
      ]
    }
    directDataSources: {
      otelMetrics: [
        {
          name: 'metrics'
          streams: metrics
          enrichWithResourceAttributes: ['*']
          enrichWithReference: 'applicationInsights'
        }
      ]
      otelTraces: [
        {
          name: 'traces'
          streams: traces
          enrichWithResourceAttributes: ['*']
          enrichWithReference: 'applicationInsights'
          replaceResourceIdWithReference: true
        }
      ]
    }
    destinations: {
      monitoringAccounts: [
        { name: 'monitorWorkspace', accountResourceId: monitorWorkspace.id }
      ]
      logAnalytics: [
        { name: 'workspace', workspaceResourceId: workspaceId }
      ]
    }
    dataFlows: [
      { streams: metrics, destinations: ['monitorWorkspace'] }
      { streams: traces, destinations: ['workspace'] }
    ]
  }
}

resource publishers 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for id in publisherIds: {
  scope: rule
  name: guid(rule.id, id, roles.monitoringMetricsPublisher)
  properties: {
    principalId: id
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
  }
}]

output monitorWorkspaceId string = monitorWorkspace.id
output tracesUrl string = '${endpoint.properties.logsIngestion.endpoint}/datacollectionRules/${rule.properties.immutableId}/streams/Microsoft-OTLP-Traces/otlp/v1/traces'
output metricsUrl string = '${endpoint.properties.metricsIngestion.endpoint}/datacollectionRules/${rule.properties.immutableId}/streams/${metricsStream}/otlp/v1/metrics'
