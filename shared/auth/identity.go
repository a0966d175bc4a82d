package auth

import (
	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// Identity is who this app is to the services that it calls. The zero value is
// whoever the environment says (azidentity.DefaultAzureCredential).
type Identity struct {
	Managed  bool   // a managed identity of the app
	ClientID string // the user-assigned one; "" is the system's
}

// Identities makes one credential for each identity, so that all who use it share
// its tokens. The zero value is ready; it is not safe for concurrent use.
type Identities struct {
	credentials map[Identity]azcore.TokenCredential
}

// Credential returns the credential of an identity. It asks for no token yet.
func (i *Identities) Credential(of Identity) (azcore.TokenCredential, error) {
	if credential, ok := i.credentials[of]; ok {
		return credential, nil
	}
	credential, err := of.open()
	if err != nil {
		return nil, err
	}
	if i.credentials == nil {
		i.credentials = map[Identity]azcore.TokenCredential{}
	}
	i.credentials[of] = credential
	return credential, nil
}

func (i Identity) open() (azcore.TokenCredential, error) {
	if !i.Managed {
		return azidentity.NewDefaultAzureCredential(nil)
	}
	var options azidentity.ManagedIdentityCredentialOptions
	if i.ClientID != "" {
		options.ID = azidentity.ClientID(i.ClientID)
	}
	return azidentity.NewManagedIdentityCredential(&options)
}
