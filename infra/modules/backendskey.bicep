// The function key of the backends as a secret for the workflow, where callers
// are known by keys. The host makes the key when it starts for the first time.

param appName string
param vaultName string
param readerId string

module key 'secret.bicep' = {
  name: 'backends-key-secret'
  params: {
    vaultName: vaultName
    name: 'backends-key'
    value: listKeys(resourceId('Microsoft.Web/sites/host', appName, 'default'), '2024-04-01').functionKeys.default
    readerId: readerId
  }
}

output reference string = key.outputs.reference
