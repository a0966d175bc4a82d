// The workbook: workbook.json with this deployment's resources put in.

param location string
param tags object

@description('Log Analytics workspace of Application Insights.')
param workspaceId string
param applicationInsightsId string

@description('Azure Monitor workspace that metrics of the handler arrive in. Empty: there is none, and the charts of these metrics are hidden.')
param monitorWorkspaceId string = ''

param eventHubNamespaceId string
param serviceBusNamespaceId string
param cosmosAccountId string

var business = loadJsonContent('../business.json')
var places = {
  '##business##': business.name
  '##metrics##': business.metrics
  '##workspace##': workspaceId
  '##applicationInsights##': applicationInsightsId
  '##monitorWorkspace##': monitorWorkspaceId
  '##eventHubs##': eventHubNamespaceId
  '##serviceBus##': serviceBusNamespaceId
  '##cosmosDB##': cosmosAccountId
}

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  // A workbook's name is a GUID.
  name: guid(resourceGroup().id, business.name)
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: business.name
    category: 'workbook'
    version: 'Notebook/1.0'
    sourceId: applicationInsightsId
    serializedData: reduce(items(places), loadTextContent('workbook.json'), (text, place) => replace(string(text), place.key, place.value))
  }
}

output workbookId string = workbook.id
