// A vault for what can't be an identity: the keys of ids, those that sign notices, and in
// authMode keys the function key of the backends (backendskey.bicep). It has no
// purge protection, so that azd down --purge removes it at once.

param name string
param location string
param tags object
@description('False: private endpoints only.')
param publicAccess bool
@secure()
param idKeys string
@description('Whether notices are sent, which are signed.')
param hasSigningKey bool
@secure()
param signingKey string
@description('Whether they are signed by the key before it, too.')
param hasPreviousKey bool
@secure()
param previousSigningKey string
@description('Who reads the secrets.')
param readerId string

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: { family: 'A', name: 'standard' }
    enableRbacAuthorization: true
    enableSoftDelete: true
    softDeleteRetentionInDays: 7
    publicNetworkAccess: publicAccess ? 'Enabled' : 'Disabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: publicAccess ? 'Allow' : 'Deny'
    }
  }
}

module ids 'secret.bicep' = {
  name: 'id-keys'
  params: { vaultName: vault.name, name: 'id-keys', value: idKeys, readerId: readerId }
}

module signing 'secret.bicep' = if (hasSigningKey) {
  name: 'notify-signing-key'
  params: { vaultName: vault.name, name: 'notify-signing-key', value: signingKey, readerId: readerId }
}

module previous 'secret.bicep' = if (hasPreviousKey) {
  name: 'notify-signing-key-previous'
  params: { vaultName: vault.name, name: 'notify-signing-key-previous', value: previousSigningKey, readerId: readerId }
}

output id string = vault.id
output name string = vault.name
output idKeysReference string = ids.outputs.reference
output signingKeyReference string = hasSigningKey ? signing!.outputs.reference : ''
output previousSigningKeyReference string = hasPreviousKey ? previous!.outputs.reference : ''
