package infra_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

var securityChecks = []check{
	{"no keys", noKeys}, {"encrypted transport", encryptedTransport}, {"public access", publicAccess}, {"private endpoints", privateEndpoints},
	{"authentication", authentication}, {"secrets", secretsStay}, {"publishing", publishing},
}

// mustBe are properties that every resource of a type has, for a reason.
type mustBe struct {
	kind, path string
	value      any
}

func (w *world) hold(rules []mustBe, why string) []string {
	var out []string
	for _, rule := range rules {
		for _, r := range w.deployed.Of(rule.kind) {
			if got := r.At(rule.path); got != rule.value {
				out = append(out, fmt.Sprintf("%s has %s %v, not %v: %s", short(r.ID), rule.path, got, rule.value, why))
			}
		}
	}
	return out
}

// noKeys: no service takes a key.
func noKeys(w *world) []string {
	out := w.hold([]mustBe{
		{"Microsoft.EventHub/namespaces", "properties.disableLocalAuth", true},
		{"Microsoft.ServiceBus/namespaces", "properties.disableLocalAuth", true},
		{accountKind, "properties.disableLocalAuth", true},
		{storageKind, "properties.allowSharedKeyAccess", false},
		{storageKind, "properties.allowBlobPublicAccess", false},
		{"Microsoft.Insights/components", "properties.DisableLocalAuth", true},
		{"Microsoft.OperationalInsights/workspaces", "properties.features.disableLocalAuth", true},
		{"Microsoft.KeyVault/vaults", "properties.enableRbacAuthorization", true},
		{"Microsoft.Web/sites", "properties.functionAppConfig.deployment.storage.authentication.type", "UserAssignedIdentity"},
		{"Microsoft.Web/sites", "identity.type", "UserAssigned"},
	}, "services take identities alone")
	for _, kind := range []string{"Microsoft.EventHub/namespaces/authorizationRules", hubKind + "/authorizationRules",
		"Microsoft.ServiceBus/namespaces/authorizationRules", queueKind + "/authorizationRules"} {
		for _, r := range w.deployed.Of(kind) {
			out = append(out, fmt.Sprintf("%s is a key", short(r.ID)))
		}
	}
	for _, a := range w.sorted() {
		own := a.site.Text("properties.functionAppConfig.deployment.storage.authentication.userAssignedIdentityResourceId")
		if own != a.identity || w.deployed.Find(a.identity) == nil {
			out = append(out, fmt.Sprintf("%s takes its package as %q, not as its identity %q", a.name, own, a.identity))
		}
	}
	if w.app("workflow").identity == w.app("backends").identity {
		out = append(out, "both apps have one identity")
	}
	return out
}

// encryptedTransport: HTTPS and TLS 1.2 at least. Flex Consumption has no FTP.
func encryptedTransport(w *world) []string {
	return w.hold([]mustBe{
		{"Microsoft.Web/sites", "properties.httpsOnly", true},
		{"Microsoft.Web/sites", "properties.siteConfig.minTlsVersion", "1.2"},
		{"Microsoft.Web/sites", "properties.siteConfig.scmMinTlsVersion", "1.2"},
		{"Microsoft.EventHub/namespaces", "properties.minimumTlsVersion", "1.2"},
		{"Microsoft.ServiceBus/namespaces", "properties.minimumTlsVersion", "1.2"},
		{storageKind, "properties.minimumTlsVersion", "TLS1_2"},
		{storageKind, "properties.supportsHttpsTrafficOnly", true},
		{accountKind, "properties.minimalTlsVersion", "Tls12"},
	}, "nothing goes unencrypted")
}

// closable are the services that private endpoints lead to, with the groups
// that each needs (Microsoft Learn, "Azure Private Endpoint availability").
var closable = map[string][]string{
	storageKind:                       {"blob", "queue", "table"},
	"Microsoft.EventHub/namespaces":   {"namespace"},
	"Microsoft.ServiceBus/namespaces": {"namespace"},
	accountKind:                       {"Sql"},
}

// publicAccess: with a network, off everywhere; without, the services must be
// reached.
func publicAccess(w *world) []string {
	var rules []mustBe
	access, action := "Enabled", "Allow"
	if w.scenario.vnet {
		access, action = "Disabled", "Deny"
	}
	for kind := range closable {
		rules = append(rules, mustBe{kind, "properties.publicNetworkAccess", access})
	}
	rules = append(rules, mustBe{storageKind, "properties.networkAcls.defaultAction", action})
	out := w.hold(rules, fmt.Sprintf("vnetEnabled is %v", w.scenario.vnet))
	// References in app settings are resolved by the platform, of which nobody says
	// that it is in the network on Flex Consumption.
	out = append(out, w.hold([]mustBe{{"Microsoft.KeyVault/vaults", "properties.publicNetworkAccess", "Enabled"},
		{"Microsoft.KeyVault/vaults", "properties.networkAcls.defaultAction", "Allow"}}, "the platform must reach the vault")...)
	if w.scenario.vnet {
		out = append(out, w.hold([]mustBe{{"Microsoft.ServiceBus/namespaces", "sku.name", "Premium"}}, "Standard has no private endpoints")...)
	}
	return out
}

// privateEndpoints: with a network every closed service has its endpoints, each
// with a name in a zone that the network sees, and the apps are in the network.
func privateEndpoints(w *world) []string {
	var out, have []string
	zones := w.linkedZones()
	for _, r := range w.deployed.Of("Microsoft.Network/privateEndpoints") {
		target, group := "", ""
		for _, text := range texts(r.At("properties.privateLinkServiceConnections")) {
			if strings.HasPrefix(text, "/subscriptions/") {
				target = text
			}
		}
		connections, _ := r.At("properties.privateLinkServiceConnections").([]any)
		for _, c := range connections {
			properties, _ := c.(map[string]any)["properties"].(map[string]any)
			group = strings.Join(texts(properties["groupIds"]), ",")
		}
		have = append(have, short(target)+" "+group)
		zone := ""
		for _, g := range w.deployed.Of("Microsoft.Network/privateEndpoints/privateDnsZoneGroups") {
			if g.Parent == r.ID {
				for _, text := range texts(g.At("properties")) {
					if strings.HasPrefix(text, "/subscriptions/") {
						zone = text[strings.LastIndex(text, "/")+1:]
					}
				}
			}
		}
		if want := zoneOf(target, group); zone != want || !slices.Contains(zones, zone) {
			out = append(out, fmt.Sprintf("the endpoint %s has its name in the zone %q, not in %s of the network %v", r.Name, zone, want, zones))
		}
	}
	var want []string
	if w.scenario.vnet {
		for kind, groups := range closable {
			for _, r := range w.deployed.Of(kind) {
				for _, group := range groups {
					want = append(want, short(r.ID)+" "+group)
				}
			}
		}
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		out = append(out, fmt.Sprintf("private endpoints lead to %v, not to %v", have, want))
	}
	return append(out, w.subnets()...)
}

// zoneOf is the zone in which the SDKs look a service up (Microsoft Learn,
// "Azure Private Endpoint private DNS zone values").
func zoneOf(target, group string) string {
	switch {
	case strings.Contains(target, "/"+storageKind+"/"):
		return "privatelink." + group + ".core.windows.net"
	case group == "namespace":
		return "privatelink.servicebus.windows.net"
	case group == "Sql":
		return "privatelink.documents.azure.com"
	}
	return "no zone that is known"
}

func (w *world) linkedZones() []string {
	var out []string
	for _, link := range w.deployed.Of("Microsoft.Network/privateDnsZones/virtualNetworkLinks") {
		if w.deployed.Find(link.Text("properties.virtualNetwork.id")) != nil {
			out = append(out, link.Name[:strings.Index(link.Name, "/")])
		}
	}
	return out
}

// subnets: with a network each app calls out of a subnet of its own, delegated
// to Flex Consumption.
func (w *world) subnets() []string {
	var out []string
	seen := map[string]bool{}
	for _, a := range w.sorted() {
		id := a.site.Text("properties.virtualNetworkSubnetId")
		if (id != "") != w.scenario.vnet {
			out = append(out, fmt.Sprintf("%s calls out of the subnet %q, and vnetEnabled is %v", a.name, id, w.scenario.vnet))
		}
		if id == "" {
			continue
		}
		if seen[id] {
			out = append(out, "both apps call out of "+short(id))
		}
		seen[id] = true
		network, name, _ := strings.Cut(id, "/subnets/")
		delegated := false
		if r := w.deployed.Find(network); r != nil {
			list, _ := r.At("properties.subnets").([]any)
			for _, item := range list {
				subnet := item.(map[string]any)
				delegated = delegated || bicep.Text(subnet["name"]) == name && slices.Contains(texts(subnet["properties"]), "Microsoft.App/environments")
			}
		}
		if !delegated {
			out = append(out, fmt.Sprintf("%s calls out of %s, which is not delegated to Microsoft.App/environments", a.name, short(id)))
		}
	}
	return out
}

// authentication: in entra mode App Service authentication refuses what has no
// token, but for Live, Ready and Page; in keys mode it is switched off, since what was
// on before stays on otherwise.
func authentication(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		r := w.deployed.Find(a.site.ID + "/config/authsettingsV2")
		if r == nil {
			out = append(out, a.name+" does not say whether it has App Service authentication")
			continue
		}
		if w.scenario.auth != "entra" {
			if r.At("properties.platform.enabled") != false || r.At("properties.globalValidation.requireAuthentication") != false {
				out = append(out, a.name+" has App Service authentication, and authMode is keys")
			}
			continue
		}
		provider := "properties.identityProviders.azureActiveDirectory."
		for path, want := range map[string]any{
			"properties.platform.enabled": true, "properties.globalValidation.requireAuthentication": true,
			"properties.globalValidation.unauthenticatedClientAction": "Return401", "properties.httpSettings.requireHttps": true,
			provider + "enabled": true, provider + "registration.openIdIssuer": a.settings["AUTH_ISSUER"],
		} {
			if got := r.At(path); got != want {
				out = append(out, fmt.Sprintf("%s: %s is %v, not %v", a.name, path, got, want))
			}
		}
		open := []string{"/api/live", "/api/ready", "/api/ops", "/api/ops/*"}
		if got := texts(r.At("properties.globalValidation.excludedPaths")); !slices.Equal(got, open) {
			out = append(out, fmt.Sprintf("%s lets %v pass, not %v", a.name, got, open))
		}
		audiences := texts(r.At(provider + "validation.allowedAudiences"))
		if got := strings.Join(audiences, ","); got != a.settings["AUTH_AUDIENCE"] || got == "" {
			out = append(out, fmt.Sprintf("%s takes the audiences %q, and its handler %q", a.name, got, a.settings["AUTH_AUDIENCE"]))
		}
		if id := r.Text(provider + "registration.clientId"); !slices.Contains(audiences, id) {
			out = append(out, fmt.Sprintf("%s has the client id %q, which is none of its audiences", a.name, id))
		}
	}
	return out
}

// secretsStay: a secret parameter and a listed key are in the vault alone, and
// the deployment's history has neither.
func secretsStay(w *world) []string {
	var out []string
	isSecret := func(text string) bool {
		return slices.ContainsFunc([]string{signingKey, previousKey, mailSecret, idKey, backendsKey, "listKeys("}, func(secret string) bool { return strings.Contains(text, secret) })
	}
	for _, r := range w.deployed.Resources {
		if r.Type != "Microsoft.KeyVault/vaults/secrets" && slices.ContainsFunc(texts(r.Body), isSecret) {
			out = append(out, fmt.Sprintf("%v: a secret stands in %s", r.Position, short(r.ID)))
		}
	}
	for _, p := range w.deployed.Passed {
		if !p.Secure && slices.ContainsFunc(texts(p.Value), isSecret) {
			out = append(out, fmt.Sprintf("%v: the %s %s has a secret, and is not secure", p.Position, p.Kind, p.Name))
		}
	}
	want, vaults := 1, 1
	if w.scenario.stamp {
		want = 0
	}
	if w.scenario.notify {
		want += 3
	}
	if w.scenario.auth == "keys" {
		want++
	}
	if got := len(w.deployed.Of("Microsoft.KeyVault/vaults/secrets")); got != want {
		out = append(out, fmt.Sprintf("there are %d secrets, not %d", got, want))
	}
	if want == 0 {
		vaults = 0
	}
	if got := len(w.deployed.Of("Microsoft.KeyVault/vaults")); got != vaults {
		out = append(out, fmt.Sprintf("there are %d vaults for %d secrets", got, want))
	}
	return out
}

// publishing: no password publishes to an app.
func publishing(w *world) []string {
	var out []string
	for _, a := range w.sorted() {
		for _, way := range []string{"ftp", "scm"} {
			r := w.deployed.Find(a.site.ID + "/basicPublishingCredentialsPolicies/" + way)
			if r == nil || r.At("properties.allow") != false {
				out = append(out, fmt.Sprintf("%s lets a password publish by %s", a.name, way))
			}
		}
	}
	return out
}
