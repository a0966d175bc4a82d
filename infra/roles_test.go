package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

var roleChecks = []check{{"roles", roles}, {"actions of own roles", ownRoles}, {"one vault role per secret", secretsAreRead}}

// use is what a function does with the services, besides what every host does.
type use struct {
	hub             hubUse
	sends, receives []string // queues, by their default names
	containers      []string
	callsBackends   bool
	notifies        bool // sends to NOTIFY_URL
	limited         bool // by the rate of a caller
}

type hubUse int

const (
	sendsToHub hubUse = 1 << iota
	receivesFromHub
)

var allQueues = []string{"transactions", "compensations", "notifications"}

// usesOfFunctions are what each function does. Wakes, hand-overs and notices go
// to all three queues from wherever a transaction is worked on.
var usesOfFunctions = map[string]use{
	"Ingest":                  {hub: sendsToHub, containers: []string{"transactions", "requests"}, limited: true},
	"Progress":                {containers: []string{"transactions", "requests"}, limited: true},
	"Relay":                   {hub: receivesFromHub, sends: []string{"transactions"}, containers: []string{"quarantine", "checkpoints"}},
	"Schedule":                {receives: []string{"transactions"}, sends: allQueues, containers: []string{"transactions", "requests"}, callsBackends: true},
	"Supervise":               {receives: []string{"compensations"}, sends: allQueues, containers: []string{"transactions"}, callsBackends: true},
	"Notify":                  {receives: []string{"notifications"}, sends: []string{"notifications"}, containers: []string{"transactions"}, notifies: true},
	"DeadLetterTransactions":  {receives: []string{"transactions"}, sends: allQueues, containers: []string{"transactions", "requests", "quarantine"}},
	"DeadLetterCompensations": {receives: []string{"compensations"}, sends: allQueues, containers: []string{"transactions", "requests", "quarantine"}},
	"DeadLetterNotifications": {receives: []string{"notifications"}, sends: allQueues, containers: []string{"transactions", "requests", "quarantine"}},
	"Sweep":                   {hub: receivesFromHub, sends: allQueues, containers: []string{"transactions", "quarantine", "checkpoints"}},
	"Operations":              {hub: receivesFromHub, sends: allQueues, containers: []string{"transactions", "requests", "quarantine", "checkpoints"}, limited: true},

	"Accounts":             {containers: []string{"accounts"}},
	"Packages":             {containers: []string{"packages"}},
	"ThirdPartyDeliveries": {containers: []string{"bookings"}},
	"DroneDeliveries":      {containers: []string{"assignments", "drones"}},
	"Drones":               {containers: []string{"drones"}},
	"Deliveries":           {containers: []string{"deliveries"}},

	"Live": {}, "Ready": {}, "Page": {},
}

// usesOf joins what the functions of an app do.
func (w *world) usesOf(a *app) use {
	var all use
	for _, function := range w.listOf(a) {
		u := usesOfFunctions[function]
		all.hub |= u.hub
		all.sends = joined(all.sends, u.sends)
		all.receives = joined(all.receives, u.receives)
		all.containers = joined(all.containers, u.containers)
		all.callsBackends = all.callsBackends || u.callsBackends
		all.notifies = all.notifies || u.notifies
		all.limited = all.limited || u.limited
	}
	return all
}

func joined(a, b []string) []string {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// TestUsesOfFunctions holds the table to the handler's: a handler that runs one
// function alone asks for the connections that the table says.
func TestUsesOfFunctions(t *testing.T) {
	for _, function := range settings.FunctionNames(chosen.Business()) {
		u, ok := usesOfFunctions[function]
		if !ok {
			t.Errorf("nothing is written down for %s", function)
			continue
		}
		_, _, err := handlerSettings(map[string]string{"AzureFunctionsJobHost__functions__0": function})
		got := fmt.Sprint(err)
		for name, want := range map[string]bool{
			"EventHubs": u.hub != 0, "ServiceBus": len(u.sends)+len(u.receives) > 0, "CosmosDB": len(u.containers) > 0,
		} {
			if asks := strings.Contains(got, name+": is not set"); asks != want {
				t.Errorf("%s asks for %s: %v, and the table says %v", function, name, asks, want)
			}
		}
	}
}

// roleNames are Azure's built-in roles by id (Microsoft Learn, "Azure built-in
// roles").
var roleNames = map[string]string{
	"a638d3c7-ab3a-418d-83e6-5f17a39d4fde": "Azure Event Hubs Data Receiver",
	"2b629674-e913-4c01-ae53-ef4638d8f975": "Azure Event Hubs Data Sender",
	"4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
	"3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher",
	"090c5cfd-751d-490a-894a-3ce6f1109419": "Azure Service Bus Data Owner",
	"4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0": "Azure Service Bus Data Receiver",
	"69a216fc-b8fb-44d8-bc22-1f3c2cd27a39": "Azure Service Bus Data Sender",
	"b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
	"00000000-0000-0000-0000-000000000001": "Cosmos DB Built-in Data Reader",
	"00000000-0000-0000-0000-000000000002": "Cosmos DB Built-in Data Contributor",
}

// scalingExceptions are the roles that an app has beyond what its functions do:
// the host asks a queue for its length to scale by it, which takes Manage
// (Microsoft Learn, "Azure Service Bus trigger for Azure Functions", identity-
// based connections; "Target-based scaling").
const scalingException = "Azure Service Bus Data Owner"

// roles: an app's identity has the roles that its functions need and no other,
// a developer those on the data, and nobody else has any.
func roles(w *world) []string {
	granted := w.granted()
	var out []string
	compare := func(who, principal string, need []string) {
		for _, role := range need {
			if !slices.Contains(granted[principal], role) {
				out = append(out, fmt.Sprintf("%s lacks the role %s", who, role))
			}
		}
		for _, role := range granted[principal] {
			if !slices.Contains(need, role) {
				out = append(out, fmt.Sprintf("%s has the role %s, which nothing that it does needs", who, role))
			}
		}
		delete(granted, principal)
	}
	for _, a := range w.sorted() {
		compare(a.name, w.principal(a), w.needed(a))
	}
	if w.scenario.stamp {
		compare("the front", frontID, w.neededByFront())
	}
	if w.scenario.developer {
		compare("the developer", developerID, w.neededByDeveloper())
	}
	for principal, roles := range granted {
		out = append(out, fmt.Sprintf("%q, which is no identity here, has the roles %s", principal, strings.Join(roles, "; ")))
	}
	return out
}

// granted lists the roles of each principal, as "role on scope".
func (w *world) granted() map[string][]string {
	out := map[string][]string{}
	add := func(r bicep.Resource, scope string) {
		id := r.Text("properties.roleDefinitionId")
		name := roleNames[id[strings.LastIndex(id, "/")+1:]]
		if own := w.deployed.Find(id); own != nil {
			name = own.Text("properties.roleName")
		}
		if name == "" {
			name = "of unknown id " + id
		}
		principal := r.Text("properties.principalId")
		out[principal] = append(out[principal], name+" on "+short(scope))
	}
	for _, r := range w.deployed.Of("Microsoft.Authorization/roleAssignments") {
		add(r, r.Scope)
	}
	for _, r := range w.deployed.Of("Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments") {
		add(r, r.Text("properties.scope"))
	}
	return out
}

// short is an id from its provider on.
func short(id string) string {
	_, after, _ := strings.Cut(id, "/providers/")
	return after
}

// idOf is the id, from its provider on, of the only resource of a type whose
// name ends so; "" if there is none.
func (w *world) idOf(kind, end string) string {
	for _, r := range w.deployed.Of(kind) {
		if r.Name == end || strings.HasSuffix(r.Name, "/"+end) || end == "" {
			return short(r.ID)
		}
	}
	return kind + " " + end + ", which is not deployed"
}

const (
	hubKind       = "Microsoft.EventHub/namespaces/eventhubs"
	queueKind     = "Microsoft.ServiceBus/namespaces/queues"
	accountKind   = "Microsoft.DocumentDB/databaseAccounts"
	databaseKind  = accountKind + "/sqlDatabases"
	containerKind = databaseKind + "/containers"
	storageKind   = "Microsoft.Storage/storageAccounts"
)

// needed lists the roles that an app needs for what its functions and its host
// do.
func (w *world) needed(a *app) []string {
	u := w.usesOf(a)
	out := []string{
		"Storage Blob Data Owner on " + w.idOf(storageKind, ""),
		"Monitoring Metrics Publisher on " + w.idOf("Microsoft.Insights/components", ""),
		"Metadata reader on " + w.idOf(accountKind, ""),
	}
	if w.scenario.otlp {
		out = append(out, "Monitoring Metrics Publisher on "+w.idOf("Microsoft.Insights/dataCollectionRules", ""))
	}
	if u.hub&sendsToHub != 0 {
		out = append(out, "Azure Event Hubs Data Sender on "+w.idOf(hubKind, "requests"))
	}
	if u.hub&receivesFromHub != 0 {
		out = append(out, "Azure Event Hubs Data Receiver on "+w.idOf(hubKind, "requests"))
	}
	for _, queue := range u.sends {
		out = append(out, "Azure Service Bus Data Sender on "+w.idOf(queueKind, queue))
	}
	for _, queue := range u.receives {
		out = append(out, "Azure Service Bus Data Receiver on "+w.idOf(queueKind, queue), scalingException+" on "+w.idOf(queueKind, queue))
	}
	for _, container := range u.containers {
		out = append(out, "Cosmos DB Built-in Data Contributor on "+w.containerScope(container))
	}
	for _, secret := range w.secretsOf(a) {
		out = append(out, "Key Vault Secrets User on "+w.idOf("Microsoft.KeyVault/vaults/secrets", secret))
	}
	return out
}

// containerScope is how a role of Cosmos DB names a container (Microsoft Learn,
// "Azure Cosmos DB for NoSQL data plane security reference", scopes).
func (w *world) containerScope(name string) string {
	for _, r := range w.deployed.Of(containerKind) {
		if parts := strings.Split(r.Name, "/"); parts[2] == name {
			return w.idOf(accountKind, parts[0]) + "/dbs/" + parts[1] + "/colls/" + name
		}
	}
	return "the container " + name + ", which is not deployed"
}

// neededByFront lists what the front of another environment does with a stamp: it
// sends to the hub, and reads what became of it.
func (w *world) neededByFront() []string {
	return []string{
		"Azure Event Hubs Data Sender on " + w.idOf(hubKind, "requests"),
		"Metadata reader on " + w.idOf(accountKind, ""),
		"Cosmos DB Built-in Data Reader on " + w.containerScope("transactions"),
		"Cosmos DB Built-in Data Reader on " + w.containerScope("requests"),
	}
}

// neededByDeveloper lists what debugging against the deployment takes: the data
// of everything.
func (w *world) neededByDeveloper() []string {
	out := []string{
		"Storage Blob Data Owner on " + w.idOf(storageKind, ""),
		"Azure Event Hubs Data Sender on " + w.idOf(hubKind, "requests"),
		"Azure Event Hubs Data Receiver on " + w.idOf(hubKind, "requests"),
		"Cosmos DB Built-in Data Contributor on " + w.idOf(accountKind, ""),
	}
	for _, queue := range allQueues {
		out = append(out, "Azure Service Bus Data Sender on "+w.idOf(queueKind, queue), "Azure Service Bus Data Receiver on "+w.idOf(queueKind, queue))
	}
	return out
}

// ownRoles: a role that is defined here allows what it is needed for alone.
func ownRoles(w *world) []string {
	var out []string
	for _, r := range slices.Concat(w.deployed.Of(accountKind+"/sqlRoleDefinitions"), w.deployed.Of("Microsoft.Authorization/roleDefinitions")) {
		want := map[string]string{"Metadata reader": `[map[dataActions:[Microsoft.DocumentDB/databaseAccounts/readMetadata]]]`}[r.Text("properties.roleName")]
		if got := fmt.Sprint(r.At("properties.permissions")); got != want {
			out = append(out, fmt.Sprintf("the role %s allows %s, not %s", r.Text("properties.roleName"), got, want))
		}
	}
	return out
}

// secretsOf are the names of the secrets that an app's settings refer to.
func (w *world) secretsOf(a *app) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(a.settings)) {
		if rest, ok := strings.CutPrefix(a.settings[name], "@Microsoft.KeyVault(SecretUri="); ok {
			rest = strings.TrimSuffix(rest, ")")
			out = append(out, rest[strings.LastIndex(rest, "/")+1:])
		}
	}
	return out
}

// secretsAreRead: each secret of the vault is one that a setting refers to.
func secretsAreRead(w *world) []string {
	var used, out []string
	for _, a := range w.sorted() {
		used = append(used, w.secretsOf(a)...)
	}
	for _, r := range w.deployed.Of("Microsoft.KeyVault/vaults/secrets") {
		if name := r.Name[strings.Index(r.Name, "/")+1:]; !slices.Contains(used, name) {
			out = append(out, fmt.Sprintf("no setting refers to the secret %s", name))
		}
	}
	return out
}
