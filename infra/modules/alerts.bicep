// Alerts, and whom they tell. What is alerted on is in alertrules.bicep, what
// to do about it in docs/operations.md.

import { metricRules, logRules, statusRules, statusWithoutMetrics, byStatus, acceptByLogs, metricsOfOurs, drills } from 'alertrules.bicep'

param location string
param tags object

@description('Token at the end of the rules\' names.')
param namePrefix string

@description('Mail address for alerts. Empty: the action group has no receiver, and alerts show only in the portal.')
param actionGroupEmail string = ''

@description('Log Analytics workspace of Application Insights.')
param workspaceId string
param applicationInsightsId string

@description('Azure Monitor workspace for the metrics of the handler. Empty: none.')
param monitorWorkspaceId string = ''

param eventHubNamespaceId string
param hubNames array
param serviceBusNamespaceId string
param queueNames array
param cosmosAccountId string
param storageAccountId string
param workflowAppId string
@description('False: they are in another environment.')
param hasBackends bool
param backendsAppId string

var runbook = 'docs/operations.md#'
var resources = {
  hubs: { id: eventHubNamespaceId, namespace: 'Microsoft.EventHub/namespaces', entities: hubNames }
  queues: { id: serviceBusNamespaceId, namespace: 'Microsoft.ServiceBus/namespaces', entities: queueNames }
  database: { id: cosmosAccountId, namespace: 'Microsoft.DocumentDB/databaseAccounts', entities: [] }
  storage: { id: storageAccountId, namespace: 'Microsoft.Storage/storageAccounts', entities: [] }
  workflow: { id: workflowAppId, namespace: 'Microsoft.Web/sites', entities: [] }
  backends: { id: backendsAppId, namespace: 'Microsoft.Web/sites', entities: [] }
}
var toldByStatus = concat(statusRules, empty(monitorWorkspaceId) ? statusWithoutMetrics : [])
var allLogRules = concat(
  logRules,
  map(toldByStatus, rule => union(byStatus, rule, { query: replace(byStatus.query, '##about##', rule.key) })),
  empty(monitorWorkspaceId) ? [acceptByLogs] : []
)
var practised = mapValues(drills, names => '. Drill: ${names}')

resource operators 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: 'ag-operators-${namePrefix}'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'operators'
    enabled: true
    emailReceivers: empty(actionGroupEmail)
      ? []
      : [
          {
            name: 'operators'
            emailAddress: actionGroupEmail
            useCommonAlertSchema: true
          }
        ]
  }
}

resource metricAlerts 'Microsoft.Insights/metricAlerts@2018-03-01' = [
  for rule in filter(metricRules, r => hasBackends || r.of != 'backends'): {
    name: 'alert-${rule.key}-${rule.of}-${namePrefix}'
    location: 'global'
    tags: tags
    properties: {
      description: '${rule.title}. ${runbook}${rule.key}${contains(drills, rule.key) ? practised[rule.key] : ''}'
      severity: rule.severity
      enabled: true
      scopes: [resources[rule.of].id]
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      autoMitigate: true
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
        allOf: map(rule.criteria, criterion => {
          criterionType: 'StaticThresholdCriterion'
          name: criterion.metric
          metricNamespace: resources[rule.of].namespace
          metricName: criterion.metric
          timeAggregation: criterion.aggregation
          operator: criterion.operator
          threshold: criterion.threshold
          dimensions: empty(criterion.dimension)
            ? []
            : [
                {
                  name: criterion.dimension
                  operator: 'Include'
                  values: criterion.dimension == 'EntityName' ? resources[rule.of].entities : criterion.values
                }
              ]
          // A metric that was never emitted is unknown to a new resource.
          skipMetricValidation: true
        })
      }
      actions: [
        {
          actionGroupId: operators.id
        }
      ]
    }
  }
]

resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in allLogRules: {
    name: 'alert-${rule.key}-${namePrefix}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: rule.title
      description: '${rule.title}. ${runbook}${rule.key}${contains(drills, rule.key) ? practised[rule.key] : ''}'
      severity: rule.severity
      enabled: true
      scopes: [workspaceId]
      targetResourceTypes: ['Microsoft.OperationalInsights/workspaces']
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      autoMitigate: !rule.once
      muteActionsDuration: rule.once ? 'PT1H' : null
      // The tables of a new workspace are made with the first telemetry.
      skipQueryValidation: true
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: 'GreaterThan'
            threshold: 0
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: [operators.id]
        customProperties: {
          applicationInsights: applicationInsightsId
        }
      }
    }
  }
]

resource promAlerts 'Microsoft.AlertsManagement/prometheusRuleGroups@2023-03-01' = if (!empty(monitorWorkspaceId)) {
  name: 'alerts-metrics-${namePrefix}'
  location: location
  tags: tags
  properties: {
    description: 'Alerts on the metrics of the handler'
    scopes: [monitorWorkspaceId]
    enabled: true
    interval: 'PT1M'
    rules: [
      for rule in metricsOfOurs: {
        alert: rule.key
        expression: rule.expression
        for: rule.hold
        severity: rule.severity
        enabled: true
        annotations: {
          summary: rule.title
          description: '${rule.title}. ${runbook}${rule.key}${contains(drills, rule.key) ? practised[rule.key] : ''}'
        }
        resolveConfiguration: {
          autoResolved: true
          timeToResolve: 'PT10M'
        }
        actions: [
          {
            actionGroupId: operators.id
          }
        ]
      }
    ]
  }
}

output actionGroupId string = operators.id
