package main

import (
	"context"
	"log/slog"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/auth"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// TestIdentityConnections opens the app as in Azure, without a connection
// string: nothing connects before it is used.
func TestIdentityConnections(t *testing.T) {
	for _, credential := range []string{"managedidentity", ""} {
		changes := []string{"EventHubs", "", "ServiceBus", "", "CosmosDB", "",
			"EventHubs__fullyQualifiedNamespace", "h.servicebus.windows.net",
			"ServiceBus__fullyQualifiedNamespace", "b.servicebus.windows.net",
			"CosmosDB__accountEndpoint", "https://c.documents.azure.com:443/"}
		for _, name := range []string{"EventHubs", "ServiceBus", "CosmosDB"} {
			changes = append(changes, name+"__credential", credential)
			if credential != "" {
				changes = append(changes, name+"__clientId", "00000000-0000-0000-0000-000000000001")
			}
		}
		s, err := settings.Load(chosen.Business(), environment("http://localhost", changes...))
		if err != nil {
			t.Fatal(err)
		}
		app, err := New(chosen.Business(), s, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("credential %q: %v", credential, err)
		}
		if err := app.Close(context.Background()); err != nil {
			t.Errorf("credential %q: %v", credential, err)
		}
	}
}

func TestOneIdentityIsOneCredential(t *testing.T) {
	var c auth.Identities
	hubs := settings.Connection{Address: "h", Credential: "managedidentity"}
	bus := settings.Connection{Address: "b", Credential: "managedidentity"}
	other := settings.Connection{Address: "b", Credential: "managedidentity", ClientID: "c"}
	first, err := credentialOf(&c, hubs)
	if err != nil {
		t.Fatal(err)
	}
	second, err := credentialOf(&c, bus)
	if err != nil || first != second {
		t.Errorf("got another credential for the same identity, %v", err)
	}
	if third, err := credentialOf(&c, other); err != nil || third == first {
		t.Errorf("got the same credential for another identity, %v", err)
	}
	if none, err := credentialOf(&c, settings.Connection{ConnectionString: settings.NewSecret("x")}); err != nil || none != nil {
		t.Errorf("got %v, %v for a connection string", none, err)
	}
}
