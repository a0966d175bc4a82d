package bicep_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

// system is a deployment with modules, loops, conditions, children and imports.
var system = map[string]string{
	"main.bicep": `
targetScope = 'subscription'
metadata description = 'a fixture'

import { sizes, queue, named as nameOf } from 'shared.bicep'
import * as all from 'shared.bicep'

@description('How big.')
@allowed(['small', 'large'])
param size string = 'small'
param queues queue[] = [{ name: 'a' }, { name: 'b', count: 2 }]
@minLength(1)
param environment string
param vnet bool = false
@secure()
param key string = ''

var chosen = sizes[size]
var token = toLower(uniqueString(subscription().id, environment))

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: 'rg-${environment}'
  location: deployment().location
  tags: { size: size }
}

module bus 'modules/bus.bicep' = {
  name: 'bus'
  scope: group
  params: {
    name: nameOf('sb', environment)
    units: chosen.units
    queues: queues
    other: all.named('x', 'y')
  }
}

module network 'modules/network.bicep' = if (vnet) {
  scope: group
}

module apps 'modules/app.bicep' = [for (app, i) in ['one', 'two']: {
  name: 'app-${app}'
  scope: resourceGroup(group.name)
  params: {
    name: app
    settings: union({ QUEUE: bus.outputs.first, ENDPOINT: bus.outputs.endpoint, INDEX: '${i}' }, vnet ? {
      SUBNET: network!.outputs.subnet
    } : {})
  }
}]

output TOKEN string = take(token, 7)
output KEYED bool = !empty(key)
output NAMES array = bus.outputs.names
output SECOND string = apps[1].outputs.host
output SUBNET string = network.?outputs.subnet ?? 'none'
`,
	"shared.bicep": `
@export()
var sizes = { small: { units: 1 }, large: { units: 4 } }
@export()
type queue = { name: string, count: int? }
@export()
func named(prefix string, environment string) string => '${prefix}-${environment}'
`,
	"modules/bus.bicep": `
param name string
param units int
param queues { name: string, count: int? }[]
param other string?
param location string = resourceGroup().location

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: name
  location: location
  sku: { capacity: units }
  tags: { other: other ?? 'none' }

  resource each 'queues' = [for q in queues: {
    name: q.name
    properties: { maxDeliveryCount: q.?count ?? 10, of: namespace.name }
  }]
}

resource rule 'Microsoft.ServiceBus/namespaces/authorizationRules@2024-01-01' existing = {
  parent: namespace
  name: 'r'
}

resource sender 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (q, i) in queues: if (i > 0) {
  scope: namespace::each[i]
  name: guid(namespace.id, q.name)
  properties: { principalId: rule.listKeys().primaryKey }
}]

output first string = namespace::each[0].name
output endpoint string = namespace.properties.serviceBusEndpoint
output names array = [for (q, i) in queues: sender[i].id]
`,
	"modules/network.bicep": `
resource net 'Microsoft.Network/virtualNetworks@2024-01-01' = { name: 'net' }
output subnet string = '${net.id}/subnets/app'
`,
	"modules/app.bicep": `
param name string
param settings object
resource site 'Microsoft.Web/sites@2024-04-01' = {
  name: name
}
resource config 'Microsoft.Web/sites/config@2024-04-01' = {
  parent: site
  name: 'appsettings'
  properties: settings
  dependsOn: [site]
}
output host string = site.properties.defaultHostName
`,
}

func TestDeployment(t *testing.T) {
	d := mustDeploy(t, system, map[string]any{"environment": "dev", "size": "large"})
	var got []string
	for _, r := range d.Resources {
		got = append(got, strings.Join([]string{r.Module, r.Type + "@" + r.APIVersion, r.Name, r.Scope, asJSON(t, r.Body)}, " "))
	}
	const group = "/subscriptions/sub/resourceGroups/rg-dev"
	const bus = group + "/providers/Microsoft.ServiceBus/namespaces/sb-dev"
	want := []string{
		` Microsoft.Resources/resourceGroups@2024-03-01 rg-dev /subscriptions/sub {"location":"westeurope","tags":{"size":"large"}}`,
		`bus Microsoft.ServiceBus/namespaces@2024-01-01 sb-dev ` + group + ` {"location":"westeurope","sku":{"capacity":4},"tags":{"other":"x-y"}}`,
		`bus Microsoft.ServiceBus/namespaces/queues@2024-01-01 sb-dev/a ` + group + ` {"properties":{"maxDeliveryCount":10,"of":"sb-dev"}}`,
		`bus Microsoft.ServiceBus/namespaces/queues@2024-01-01 sb-dev/b ` + group + ` {"properties":{"maxDeliveryCount":2,"of":"sb-dev"}}`,
		`bus Microsoft.Authorization/roleAssignments@2022-04-01 NAME ` + bus + `/queues/b {"properties":{"principalId":"<Microsoft.ServiceBus/namespaces/authorizationRules/sb-dev/r.listKeys().primaryKey>"}}`,
		`apps Microsoft.Web/sites@2024-04-01 one ` + group + ` {}`,
		`apps Microsoft.Web/sites/config@2024-04-01 one/appsettings ` + group + ` {"properties":{"ENDPOINT":"<Microsoft.ServiceBus/namespaces/sb-dev.properties.serviceBusEndpoint>","INDEX":"0","QUEUE":"a"}}`,
		`apps Microsoft.Web/sites@2024-04-01 two ` + group + ` {}`,
		`apps Microsoft.Web/sites/config@2024-04-01 two/appsettings ` + group + ` {"properties":{"ENDPOINT":"<Microsoft.ServiceBus/namespaces/sb-dev.properties.serviceBusEndpoint>","INDEX":"1","QUEUE":"a"}}`,
	}
	assignment := d.Of("Microsoft.Authorization/roleAssignments")[0]
	for i := range got {
		got[i] = strings.ReplaceAll(got[i], assignment.Name, "NAME")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
	outputs := asJSON(t, d.Outputs)
	for _, want := range []string{`"SECOND":"<Microsoft.Web/sites/two.properties.defaultHostName>"`, `"SUBNET":"none"`, `"KEYED":false`, assignment.Name} {
		if !strings.Contains(outputs, want) {
			t.Errorf("outputs %s: want %s", outputs, want)
		}
	}
	if len(d.Outputs["TOKEN"].(string)) != 7 || len(d.Existing) != 1 || d.Existing[0].ID != bus+"/authorizationRules/r" {
		t.Errorf("token %v, existing %v", d.Outputs["TOKEN"], d.Existing)
	}
	if r := d.Find(strings.ToUpper(bus)); r == nil || r.At("sku.capacity") != int64(4) || r.Text("location") != "westeurope" ||
		r.At("sku.capacity.x") != nil || r.Parent != "" || r.Line != 8 {
		t.Errorf("namespace: %+v", r)
	}
	if r := d.Find(bus + "/queues/a"); r == nil || r.Parent != bus {
		t.Errorf("queue: %+v", r)
	}
}

func TestConditionalModule(t *testing.T) {
	d := mustDeploy(t, system, map[string]any{"environment": "dev", "vnet": true, "key": "k", "queues": []any{map[string]any{"name": "z"}}})
	const subnet = "/subscriptions/sub/resourceGroups/rg-dev/providers/Microsoft.Network/virtualNetworks/net/subnets/app"
	if d.Outputs["SUBNET"] != subnet || d.Outputs["KEYED"] != true {
		t.Errorf("outputs: %v", d.Outputs)
	}
	for _, r := range d.Of("Microsoft.Web/sites/config") {
		if r.Text("properties.SUBNET") != subnet || r.Text("properties.QUEUE") != "z" {
			t.Errorf("settings: %v", r.Body)
		}
	}
	var secure []string
	for _, p := range d.Passed {
		if p.Secure {
			secure = append(secure, p.Module+" "+string(p.Kind)+" "+p.Name+" "+asJSON(t, p.Value))
		}
	}
	if diff := cmp.Diff([]string{` param key "k"`}, secure); diff != "" || len(d.Passed) != 25 {
		t.Errorf("%d values were passed; secure (-want +got):\n%s", len(d.Passed), diff)
	}
	if n := len(d.Of("microsoft.authorization/ROLEASSIGNMENTS")); n != 0 {
		t.Errorf("%d role assignments", n)
	}
}

func TestParams(t *testing.T) {
	for want, params := range map[string]map[string]any{
		"main.bicep lacks the param environment":                                            {},
		"the param size is big; allowed: [small large]":                                     {"environment": "e", "size": "big"},
		"main.bicep has no param sise":                                                      {"environment": "e", "sise": "big"},
		"the param environment is ; @minLength is 1":                                        {"environment": ""},
		"the param vnet is a string, not of type bool":                                      {"environment": "e", "vnet": "true"},
		"the param queues has an item 0 that has no name":                                   {"environment": "e", "queues": []any{map[string]any{}}},
		"the param queues has an item 0 that has a cuont, which its type has not":           {"environment": "e", "queues": []any{map[string]any{"name": "a", "cuont": int64(1)}}},
		"the param queues has an item 0 that has a count that is a string, not of type int": {"environment": "e", "queues": []any{map[string]any{"name": "a", "count": "1"}}},
		"the param queues is a number, not an array":                                        {"environment": "e", "queues": 1},
	} {
		if _, problem := deploy(t, system, params); !strings.Contains(problem, want) {
			t.Errorf("%v: got %q, want %q", params, problem, want)
		}
	}
}

func TestDeclarations(t *testing.T) {
	got, err := bicep.Declarations("bus.bicep", system["modules/bus.bicep"]+"param list int[]?\nparam both 'a' | 'b'\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []bicep.Declaration{
		{Kind: bicep.Param, Name: "name", Type: "string"}, {Kind: bicep.Param, Name: "units", Type: "int"},
		{Kind: bicep.Param, Name: "queues"}, {Kind: bicep.Param, Name: "other", Type: "string?"}, {Kind: bicep.Param, Name: "location", Type: "string"},
		{Kind: bicep.Res, Name: "namespace", Type: "Microsoft.ServiceBus/namespaces@2024-01-01"}, {Kind: bicep.Res, Name: "each", Type: "queues"},
		{Kind: bicep.Res, Name: "rule", Type: "Microsoft.ServiceBus/namespaces/authorizationRules@2024-01-01"},
		{Kind: bicep.Res, Name: "sender", Type: "Microsoft.Authorization/roleAssignments@2022-04-01"},
		{Kind: bicep.Output, Name: "first", Type: "string"}, {Kind: bicep.Output, Name: "endpoint", Type: "string"}, {Kind: bicep.Output, Name: "names", Type: "array"},
		{Kind: bicep.Param, Name: "list", Type: "int[]?"}, {Kind: bicep.Param, Name: "both"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestSmallThings holds what has a rule of its own.
func TestSmallThings(t *testing.T) {
	d := mustDeploy(t, map[string]string{"main.bicep": `
param a string = 'default' // null is as good as nothing
param b string?
output a string = '${a}${b ?? 'null'}' // an output may be called as a param
resource off 'A.B/c@1' = if (a == 'x') {
  name: 'x'
  resource child 'd' = { name: 'y' }
}
resource on 'A.B/c@1' = {
  name: 'z'
  tags: { list: [for i in [1, 2]: i] }
  resource child 'd' = if (a != 'x') { name: off.name }
  resource sibling 'e' = { name: '${child.name}2' }
}
`}, map[string]any{"a": nil, "b": nil})
	var names []string
	for _, r := range d.Resources {
		names = append(names, r.Name)
	}
	if got := asJSON(t, d.Resources[0].Body); got != `{"tags":{"list":[1,2]}}` {
		t.Errorf("the body is %s", got)
	}
	if diff := cmp.Diff([]string{"z", "z/x", "z/x2"}, names); diff != "" || d.Outputs["a"] != "defaultnull" {
		t.Errorf("outputs %v; resources (-want +got):\n%s", d.Outputs, diff)
	}
}
