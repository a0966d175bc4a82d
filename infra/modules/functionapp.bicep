// One function app on a Flex Consumption plan of its own (a plan of this kind
// takes one app), as a custom handler.

import { appSize } from '../sizes.bicep'

param location string
param tags object
@description('The name of the service in azure.yaml.')
param serviceName string
param appName string
param planName string
param size appSize
param zoneRedundant bool
@description('What a deployment does to running instances (Microsoft Learn, "Site update strategies in Flex Consumption").')
@allowed(['RollingUpdate', 'Recreate'])
param updateStrategy string
param identityId string
param identityClientId string
@description('The functions of the package that run in another app.')
param disabledFunctions string[]
@description('Settings besides those that every app has.')
param settings object
param packageContainer string
param storage storageEndpoints
param applicationInsightsConnectionString string
@description('The subnet that calls go out from; empty: none.')
param subnetId string
param auth authentication

type storageEndpoints = {
  blob: string
  queue: string
  table: string
}

@description('App Service authentication by Entra ID tokens; without it the functions\' own levels hold.')
type authentication = {
  enabled: bool
  issuer: string
  clientId: string
  audiences: string[]
}

resource plan 'Microsoft.Web/serverfarms@2024-04-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: { name: 'FC1', tier: 'FlexConsumption' }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: appName
  location: location
  tags: union(tags, { 'azd-service-name': serviceName })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: { '${identityId}': {} }
  }
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    clientAffinityEnabled: false
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    siteConfig: { // Flex Consumption refuses most of it, ftpsState too
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
    }
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.blob}${packageContainer}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: { name: 'custom', version: '1.0' }
      scaleAndConcurrency: {
        instanceMemoryMB: size.instanceMemoryMB
        maximumInstanceCount: size.maximumInstanceCount
        alwaysReady: size.alwaysReady
        triggers: { http: { perInstanceConcurrency: size.httpConcurrency } }
      }
      #disable-next-line BCP037 // documented, but not in the published types up to 2025-03-01
      siteUpdateStrategy: { type: updateStrategy }
    }
  }
}

// A site takes one change of its configuration at a time: a chain.
//
// A publishing password would be a key to the app.
resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: app
  name: 'ftp'
  properties: { allow: false }
}

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-04-01' = {
  parent: app
  name: 'scm'
  properties: { allow: false }
  dependsOn: [ftp]
}

resource appSettings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: app
  name: 'appsettings'
  properties: union({
    APPLICATIONINSIGHTS_CONNECTION_STRING: applicationInsightsConnectionString
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
    AzureWebJobsStorage__blobServiceUri: storage.blob
    AzureWebJobsStorage__queueServiceUri: storage.queue
    AzureWebJobsStorage__tableServiceUri: storage.table
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: identityClientId
    AZURE_CLIENT_ID: identityClientId
    // The host reads a JSON body whole before the handler, which takes 64 KiB,
    // sees any of it.
    FUNCTIONS_REQUEST_BODY_SIZE_LIMIT: '1048576'
  }, toObject(disabledFunctions, name => 'AzureWebJobs.${name}.Disabled', name => 'true'), settings)
  dependsOn: [scm]
}

// Also where it is off: what was on before stays on otherwise.
resource authSettings 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: { enabled: auth.enabled }
    globalValidation: {
      requireAuthentication: auth.enabled
      unauthenticatedClientAction: auth.enabled ? 'Return401' : 'AllowAnonymous'
      excludedPaths: ['/api/live', '/api/ready', '/api/ops', '/api/ops/*']
    }
    httpSettings: { requireHttps: true }
    identityProviders: auth.enabled ? {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: auth.clientId
          openIdIssuer: auth.issuer
        }
        validation: { allowedAudiences: auth.audiences }
      }
    } : {}
    login: { tokenStore: { enabled: false } }
  }
  dependsOn: [appSettings]
}

output id string = app.id
output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
