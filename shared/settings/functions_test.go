package settings_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// running is an environment in which the host runs these functions alone.
func running(without []string, functions ...string) func(string) string {
	var changes []string
	for _, name := range without {
		changes = append(changes, name, "")
	}
	for i, f := range functions {
		changes = append(changes, fmt.Sprint("AzureFunctionsJobHost__functions__", i), f)
	}
	return env(changes...)
}

func TestConnectionsAreReadWhereTheyAreNeeded(t *testing.T) {
	all := []string{"EventHubs", "ServiceBus", "CosmosDB"}
	tests := []struct {
		functions []string
		needed    []string
	}{
		{nil, all},
		{[]string{"Live", "Ready"}, nil},
		{[]string{"Accounts", "Packages", "ThirdPartyDeliveries", "DroneDeliveries", "Drones", "Deliveries", "Live", "Ready"}, []string{"CosmosDB"}},
		{[]string{"Progress"}, []string{"CosmosDB"}},
		{[]string{"Ingest"}, []string{"EventHubs", "CosmosDB"}},
		{[]string{"Schedule", "Live"}, []string{"ServiceBus", "CosmosDB"}},
		{[]string{"Relay"}, all},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.functions, "+"), func(t *testing.T) {
			_, err := settings.Load(chosen.Business(), running(all, test.functions...))
			for _, name := range all {
				needed := strings.Contains(strings.Join(test.needed, " "), name)
				if asked := err != nil && strings.Contains(err.Error(), name+": is not set"); asked != needed {
					t.Errorf("%s: asked for: %t, needed: %t; %v", name, asked, needed, err)
				}
			}
			s, err := settings.Load(chosen.Business(), running(nil, test.functions...))
			if err != nil {
				t.Fatal(err)
			}
			for name, c := range map[string]settings.Connection{"EventHubs": s.EventHubs, "ServiceBus": s.ServiceBus, "CosmosDB": s.CosmosDB} {
				if needed := strings.Contains(strings.Join(test.needed, " "), name); c.Used() != needed {
					t.Errorf("%s is %s", name, c)
				}
			}
			for _, f := range settings.FunctionNames(chosen.Business()) {
				here := len(test.functions) == 0 || strings.Contains(" "+strings.Join(test.functions, " ")+" ", " "+f+" ")
				if s.Functions.Has(f) != here {
					t.Errorf("%s runs here: %t", f, !here)
				}
			}
		})
	}
}

func TestFunctionsAreReadAsTheHostReadsThem(t *testing.T) {
	s, err := settings.Load(chosen.Business(), env("AzureFunctionsJobHost__functions__1", "live", "AzureFunctionsJobHost__functions__7", "Ready"))
	if err != nil || s.Functions.String() != "Live, Ready" {
		t.Errorf("got %s, %v", s.Functions, err)
	}
	s, err = settings.Load(chosen.Business(), env("AzureFunctionsJobHost__functions__0", "Live", "AzureFunctionsJobHost__functions__1", "Ingst"))
	if err != nil || !s.Functions.Has("Live") || s.Functions.Has("Ingest") || !slices.Equal(s.Functions.Unknown(chosen.Business()), []string{"Ingst"}) {
		t.Errorf("a name of no function: got %s, unknown %s, %v", s.Functions, s.Functions.Unknown(chosen.Business()), err)
	}
	off := []string{"AzureWebJobs.Live.Disabled", "true", "AzureWebJobs_Relay_Disabled", "1", "AzureWebJobs.Ready.Disabled", "TRUE", "AzureWebJobs.Sweep.Disabled", "false"}
	s, err = settings.Load(chosen.Business(), env(off...))
	if err != nil || s.Functions.Has("Live") || s.Functions.Has("Relay") || s.Functions.Has("Ready") || !s.Functions.Has("Sweep") || len(s.Functions) != len(settings.FunctionNames(chosen.Business()))-3 {
		t.Errorf("switched off: got %s, %v", s.Functions, err)
	}
	s, err = settings.Load(chosen.Business(), env(append(off, "AzureFunctionsJobHost__functions__0", "live", "AzureFunctionsJobHost__functions__1", "Ingest")...))
	if err != nil || s.Functions.String() != "Ingest" {
		t.Errorf("listed and switched off: got %s, %v", s.Functions, err)
	}
	if s, err = settings.Load(chosen.Business(), env()); err != nil || s.Functions.String() != "all" {
		t.Errorf("got %s, %v", s.Functions, err)
	}
}
