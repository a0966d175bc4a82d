package bicep

import "strings"

// scopeValue is a resource group, a subscription or a tenant, as a scope or as
// an object with its properties.
type scopeValue struct {
	kind                        string // resourceGroup, subscription or tenant
	subscription, tenant, group string
	location                    any // a string or a Symbol
}

func (s *scopeValue) id() string {
	switch s.kind {
	case "tenant":
		return ""
	case "subscription":
		return "/subscriptions/" + s.subscription
	}
	return "/subscriptions/" + s.subscription + "/resourceGroups/" + s.group
}

func (s *scopeValue) properties() map[string]any {
	switch s.kind {
	case "tenant":
		return map[string]any{"tenantId": s.tenant}
	case "subscription":
		return map[string]any{"id": s.id(), "subscriptionId": s.subscription, "tenantId": s.tenant}
	}
	return map[string]any{
		"id": s.id(), "name": s.group, "location": s.location, "type": "Microsoft.Resources/resourceGroups",
		"tags": symbol("<Microsoft.Resources/resourceGroups/"+s.group+">", ".tags"),
	}
}

var scopeFunctions = map[string]builtin{
	"resourceGroup":          {0, 2, resourceGroup},
	"subscription":           {0, 1, subscription},
	"tenant":                 {0, 0, func(c *invocation) any { return c.env.frame.scope.as("tenant") }},
	"deployment":             {0, 0, deployment},
	"environment":            {0, 0, func(*invocation) any { return publicCloud() }},
	"deployer":               {0, 0, deployer},
	"resourceId":             {2, -1, idOfResource},
	"subscriptionResourceId": {2, -1, idInSubscription},
	"tenantResourceId":       {2, -1, func(c *invocation) any { return c.id("", 0) }},
	"extensionResourceId":    {3, -1, func(c *invocation) any { return c.id(c.text(0), 1) }},
	"fail":                   {1, 1, func(c *invocation) any { c.fail("%s", c.text(0)); return nil }},
	"reference":              {1, 3, opaque},
	"listKeys":               {1, 3, opaque},
	"listAccountSas":         {1, 3, opaque},
	"newGuid":                {0, 0, opaque},
	"utcNow":                 {0, 1, opaque},
}

// opaque is a result that only the deployment knows.
func opaque(c *invocation) any { return c.symbol() }

func (s scopeValue) as(kind string) *scopeValue {
	s.kind = kind
	return &s
}

func resourceGroup(c *invocation) any {
	own := c.env.frame.scope
	if len(c.args) == 0 {
		if own.kind != "resourceGroup" {
			c.fail("a file for a %s is in no resource group", own.kind)
		}
		return own
	}
	other := own.as("resourceGroup")
	if len(c.args) == 2 {
		other.subscription = c.text(0)
	}
	other.group, _ = textOf(c.at, c.args[len(c.args)-1])
	if other.group != own.group {
		other.location = symbol("<Microsoft.Resources/resourceGroups/"+other.group+">", ".location")
	}
	return other
}

func subscription(c *invocation) any {
	other := c.env.frame.scope.as("subscription")
	if len(c.args) == 1 {
		other.subscription = c.text(0)
	}
	return other
}

func deployment(c *invocation) any {
	own := c.env.frame.scope
	out := map[string]any{"name": Symbol("<deployment.name>")}
	if own.kind == "subscription" {
		out["location"] = own.location
	}
	return out
}

func deployer(*invocation) any {
	return map[string]any{"objectId": Symbol("<deployer.objectId>"), "tenantId": Symbol("<deployer.tenantId>")}
}

// publicCloud is what environment() returns in Azure's public cloud (Microsoft
// Learn, "Deployment functions for Bicep", environment).
func publicCloud() map[string]any {
	return map[string]any{
		"name":            "AzureCloud",
		"resourceManager": "https://management.azure.com/",
		"authentication":  map[string]any{"loginEndpoint": "https://login.microsoftonline.com/", "tenant": "common"},
		"suffixes": map[string]any{
			"storage": "core.windows.net", "keyvaultDns": ".vault.azure.net", "sqlServerHostname": ".database.windows.net",
			"acrLoginServer": ".azurecr.io",
		},
	}
}

// id is the id of the type and names from argument i on.
func (c *invocation) id(scope string, i int) string {
	var names []string
	for j := i + 1; j < len(c.args); j++ {
		name, _ := textOf(c.at, c.args[j])
		names = append(names, name)
	}
	return resourceID(c.at, scope, c.text(i), strings.Join(names, "/"))
}

// idOfResource is resourceId([subscription], [resource group], type, names).
func idOfResource(c *invocation) any {
	scope := *c.env.frame.scope
	at := 0
	for at < 2 && at < len(c.args)-1 && !strings.Contains(c.text(at), "/") {
		at++
	}
	if at > 0 {
		scope.kind, scope.group = "resourceGroup", c.text(at-1)
	}
	if at == 2 {
		scope.subscription = c.text(0)
	}
	return c.id(scope.id(), at)
}

// idInSubscription is subscriptionResourceId([subscription], type, names).
func idInSubscription(c *invocation) any {
	scope := c.env.frame.scope.as("subscription")
	at := 0
	if !strings.Contains(c.text(0), "/") {
		scope.subscription, at = c.text(0), 1
	}
	return c.id(scope.id(), at)
}
