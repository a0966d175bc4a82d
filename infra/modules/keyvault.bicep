// A vault for what can't be an identity: the keys of ids, those that sign
// notices, the mail server's password, and in authMode keys the function key of the backends. It has no purge
// protection, so that azd down --purge removes it at once.
//
// Its network is open in every deployment, for tokens of who has the role: the
// platform resolves the references in app settings, and that it does so from
// inside the app's virtual network is not documented for Flex Consumption
// (docs/adr/0018-vault-outside-the-network.md).

param name string
param location string
param tags object
@description('Whether ids are minted here.')
param hasIdKeys bool
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
@description('Whether the mail server asks for a password.')
param hasMailPassword bool
@secure()
param mailPassword string
@description('Whether the workflow calls the backends with a function key.')
param hasBackendsKey bool
@secure()
param backendsKey string
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
    publicNetworkAccess: 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: 'Allow'
    }
  }
}

module ids 'secret.bicep' = if (hasIdKeys) {
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

module mail 'secret.bicep' = if (hasMailPassword) {
  name: 'smtp-password'
  params: { vaultName: vault.name, name: 'smtp-password', value: mailPassword, readerId: readerId }
}

module backends 'secret.bicep' = if (hasBackendsKey) {
  name: 'backends-key'
  params: { vaultName: vault.name, name: 'backends-key', value: backendsKey, readerId: readerId }
}

output backendsKeyReference string = hasBackendsKey ? backends!.outputs.reference : ''
output idKeysReference string = hasIdKeys ? ids!.outputs.reference : ''
output signingKeyReference string = hasSigningKey ? signing!.outputs.reference : ''
output previousSigningKeyReference string = hasPreviousKey ? previous!.outputs.reference : ''
output mailPasswordReference string = hasMailPassword ? mail!.outputs.reference : ''
