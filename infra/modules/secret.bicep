// One secret of the vault and the one identity that reads it.

import { roles } from 'roles.bicep'

param vaultName string
param name string
@secure()
param value string
param readerId string

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' existing = {
  name: vaultName
}

resource secret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' = {
  parent: vault
  name: name
  properties: { value: value }
}

resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  scope: secret
  name: guid(secret.id, readerId, roles.keyVaultSecretsUser)
  properties: {
    principalId: readerId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
  }
}

// Without a version: the app takes a new one within a day, or when it restarts
// (Microsoft Learn, "Use Key Vault references as app settings").
output reference string = '@Microsoft.KeyVault(SecretUri=${vault.properties.vaultUri}secrets/${secret.name})'
