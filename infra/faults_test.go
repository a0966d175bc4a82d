package infra_test

import "slices"

// The files in which most faults are made.
const (
	mainFile      = "infra/main.bicep"
	apps          = "infra/modules/apps.bicep"
	appFile       = "infra/modules/functionapp.bicep"
	hub           = "infra/modules/hub.bicep"
	queueFile     = "infra/modules/queue.bicep"
	cosmos        = "infra/modules/cosmos.bicep"
	businessFile  = "infra/business.json"
	sizesFile     = "infra/sizes.bicep"
	hostJSON      = "host.json"
	local         = "local.settings.json"
	azureYAMLFile = "azure.yaml"
)

// one is a fault by one edit.
func one(check, say, file, old, new string) fault {
	return fault{check, say, []edit{{file, old, new}}}
}

func faults() []fault {
	return slices.Concat(settingsFaults, functionFaults, entityFaults, roleFaults, securityFaults, projectFaults, timingFaults, operationFaults, flexFaults)
}

var settingsFaults = []fault{
	one("settings load", "EVENTHUB_CONSUMER_GROUP must not be $Default", apps, "EVENTHUB_CONSUMER_GROUP: entities.consumerGroup", "EVENTHUB_CONSUMER_GROUP: '$Default'"),
	one("settings load", "EventHubs: is not set", apps, "EventHubs__fullyQualifiedNamespace: entities.eventHubsNamespace", ""),
	one("settings load", "AUTH_MODE entra needs AUTH_ISSUER", apps, "{ AUTH_ISSUER: auth.issuer }", "{}"),
	one("settings load", "AUTH_MODE other than off needs ID_KEYS", apps, "ID_KEYS: idKeys", "ID_KEY: idKeys"),
	one("settings load", "NOTIFY_URL needs NOTIFY_SIGNING_KEY", apps, "NOTIFY_SIGNING_KEY: notify.signingKey", ""),
	one("settings load", "CosmosDB__accountEndpoint", apps, "CosmosDB__accountEndpoint: entities.cosmosEndpoint", "CosmosDB__accountEndpoint: 'x.documents.azure.com'"),
	one("settings are read", "workflow sets SWEEP_SCHEDULES, which nobody reads", apps, "SWEEP_SCHEDULE:", "SWEEP_SCHEDULES:"),
	one("settings are read", "backends sets FLEET_DRONE, which nobody reads", apps, "FLEET_DRONES:", "FLEET_DRONE:"),
	one("settings of another app", "backends sets EventHubs__fullyQualifiedNamespace", apps, "OTEL_SERVICE_NAME: 'backends'", "OTEL_SERVICE_NAME: 'backends'\n EventHubs__fullyQualifiedNamespace: entities.eventHubsNamespace"),
	one("settings of another app", "workflow sets FLIGHT_TIME_SCALE", apps, "OTEL_SERVICE_NAME: 'workflow'", "OTEL_SERVICE_NAME: 'workflow'\n FLIGHT_TIME_SCALE: '1'"),
	one("settings of the scenario", `workflow sets BACKEND_DRONE_URL to ""`, businessFile, "\n    \"BACKEND_DRONE_URL\",", ""),
	one("settings of the scenario", "workflow sets BACKEND_AUDIENCE", apps, "BACKEND_AUDIENCE: 'api://${auth.backendsClientId}'", "BACKEND_AUDIENCE: 'api://${auth.workflowClientId}'"),
	one("settings of the scenario", `workflow sets SHARD to ""`, apps, "{ SHARD: string(stamp.shard) }", "{}"),
	one("settings of the scenario", `workflow sets ID_KEYS to "x`, apps, "{ SHARD: string", "{ ID_KEYS: 'x', SHARD: string"),
	one("settings of the scenario", "workflow sets BACKEND_DRONE_URL to \"/api\"", apps, ": stamp.backendsUrl\n", ": ''\n"),
	one("", "run \"go run ./infra/hooks join\"", "infra/main.parameters.json", "${FRONT_PRINCIPAL_ID=}", ""),
	one("", "shard is 1, which is the front", "infra/main.parameters.json", "${SHARD=1}", "1"),
	one("settings of the scenario", `sets AUTH_MODE to ""`, apps, "  AUTH_MODE: auth.mode\n", ""),
	one("settings of the scenario", "workflow sets no BACKEND_KEY", apps, "  BACKEND_KEY: backendsKey\n", "  BACKEND_KEY: empty([backendsKey]) ? 'x' : ''\n"),
	one("", "authMode is keys and backendsKey is empty", "infra/main.parameters.json", "${BACKENDS_KEY=}", ""),
	one("public access", "the platform must reach the vault", "infra/modules/keyvault.bicep", "publicNetworkAccess: 'Enabled'", "publicNetworkAccess: 'Disabled'"),
	one("settings of the scenario", "OTEL_TRACES_SAMPLER to", apps, "'microsoft.fixed_percentage'", "'parentbased_traceidratio'"),
	one("settings of the scenario", "sets OTLP_AUTH_SCOPE", apps, "  OTLP_AUTH_SCOPE: 'https://monitor.azure.com/.default'\n", ""),
	one("settings load", "SMTP_USER needs SMTP_PASSWORD", apps, "SMTP_PASSWORD: mail.password", ""),
	one("settings of the scenario", "sets SMTP_URL", apps, "SMTP_URL: mail.url", "SMTP_URL: 'smtp://example.com:25'"),
	one("settings of the scenario", "sets NOTIFY_URL", apps, "NOTIFY_URL: notify.url", "NOTIFY_URL: 'https://example.com'"),
	one("settings of the identity", "workflow sets EventHubs__clientId", apps, "EventHubs__clientId: identities.workflow.clientId", "EventHubs__clientId: identities.backends.clientId"),
	one("settings of the identity", "does not name its identity for AzureWebJobsStorage", appFile, "AzureWebJobsStorage__credential: 'managedidentity'", "AzureWebJobsStorage__credential: 'identity'"),
	one("settings of the identity", "workflow sets ServiceBus__fullyQualifiedNamespace to a URL", apps,
		"ServiceBus__fullyQualifiedNamespace: entities.serviceBusNamespace", "ServiceBus__fullyQualifiedNamespace: 'https://${entities.serviceBusNamespace}'"),
	one("settings of the identity", "sends telemetry as", appFile, ";Authorization=AAD", ""),
	one("settings of the host", "sets no AZURE_CLIENT_ID", appFile, "AZURE_CLIENT_ID: identityClientId", ""),
	one("settings of the host", "must name its storage once", appFile, "AzureWebJobsStorage__tableServiceUri: storage.table", ""),
	one("settings of the host", "sets FUNCTIONS_WORKER_RUNTIME, which has no place on Flex", appFile, "AZURE_CLIENT_ID: identityClientId", "AZURE_CLIENT_ID: identityClientId\n FUNCTIONS_WORKER_RUNTIME: 'custom'"),
	one("local settings", "sets COSMOSDB_DATABAS, which nobody reads", local, "COSMOSDB_DATABASE", "COSMOSDB_DATABAS"),
	one("local settings", "names %EVENTHUB_NAME%", local, `"EVENTHUB_NAME": "requests",`, ""),
	one("local settings", "sets no AzureWebJobsStorage", local, `"AzureWebJobsStorage": "UseDevelopmentStorage=true",`, ""),
	one("local settings", "refuses local.settings.json", local, "UseDevelopmentEmulator=true;", "UseDevelopmentEmulator=true;EntityPath=x"),
}

var flexFaults = []fault{
	one("site properties", "properties.siteConfig.ftpsState, which Flex Consumption refuses", appFile, "minTlsVersion: '1.2'", "minTlsVersion: '1.2'\n ftpsState: 'Disabled'"),
	one("site properties", "properties.vnetRouteAllEnabled, which Flex Consumption refuses", appFile, "httpsOnly: true", "httpsOnly: true\n vnetRouteAllEnabled: true"),
	one("update strategy", "siteUpdateStrategy.type RollingUpdate, not Recreate", sizesFile, "updateStrategy: 'Recreate'", "updateStrategy: 'RollingUpdate'"),
	one("OTLP endpoints", `sends metrics to the stream "microsoft-otelmetrics"`, "infra/modules/otlp.bicep", "/streams/${metricsStream}/", "/streams/microsoft-otelmetrics/"),
	one("", "principalType", mainFile, "principalType: 'ServicePrincipal', role: roles.storageBlobDataOwner", "principalType: 'Application', role: roles.storageBlobDataOwner"),
	one("configuration of a site", "are deployed side by side", appFile, "dependsOn: [appSettings]", ""),
}

var functionFaults = []fault{
	one("functions of the apps", "Sweep runs in 2 apps", businessFile, `"Supervise",
      "Sweep"`, `"Supervise"`),
	one("functions of the apps", "Live runs in 1 apps [workflow], not in 2", businessFile, `"Deliveries",
      "Live",`, `"Deliveries",`),
	one("functions of the apps", "Progress runs in 1 apps [workflow], not in 0", apps, "['Ingest', 'Progress']", "['Ingest']"),
	one("always ready instances", "keeps instances for http, and requests go to the front", apps, "group.name != 'http'", "group.name != ''"),
	one("functions of the apps", "workflow switches off Drone, and there is no functions/Drone", businessFile, `"Drones"`, `"Drone"`),
	one("functions of the apps", "workflow sets AzureFunctionsJobHost__functions__0: a list", apps, "OTEL_SERVICE_NAME: 'workflow'", "OTEL_SERVICE_NAME: 'workflow'\n AzureFunctionsJobHost__functions__0: 'Ingest'"),
	one("functions resolve", "backends has Relay, whose eventHubName names %EVENTHUB_NAME%", apps, "EVENTHUB_NAME: entities.hub", ""),
	one("functions resolve", "names %TRANSACTIONS_QUEUE%, and sets no TRANSACTIONS_QUEUE", apps, "TRANSACTIONS_QUEUE: entities.transactionsQueue", ""),
	one("functions resolve", "whose connection is Bus", "functions/Schedule/function.json", `"ServiceBus"`, `"Bus"`),
	one("functions find their entities", "Relay of workflow listens to requests/other", "functions/Relay/function.json", "%EVENTHUB_CONSUMER_GROUP%", "other"),
	one("functions find their entities", "Notify of workflow listens to notifications", mainFile, "compensationsQueue, notificationsQueue]", "compensationsQueue]"),
	one("functions find their entities", "Schedule of workflow listens to transactions of", mainFile, "serviceBusNamespace: serviceBus.outputs", "serviceBusNamespace: eventHubs.outputs"),
	one("always ready instances", `keeps instances for "Relay"`, sizesFile, "'function:Relay'", "'Relay'"),
	one("always ready instances", "keeps instances for Accounts, which it does not run", sizesFile, "'function:Relay'", "'function:Accounts'"),
	one("always ready instances", "keeps instances for Ingest, which belongs to the group http", sizesFile, "'function:Relay'", "'function:Ingest'"),
	one("instances", "may have 5000 instances", sizesFile, "maximumInstanceCount: 500 ", "maximumInstanceCount: 5000 "),
}

var entityFaults = []fault{
	one("event hubs", "keeps events for 24 h", mainFile, "retentionHours: 168", "retentionHours: 24"),
	one("event hubs", "are [requests/tail], not relay and tail", mainFile, "consumerGroups: [consumerGroup, tailGroup]", "consumerGroups: [tailGroup]"),
	one("event hubs", "the hubs are [delivery-request]", mainFile, "name: hubName, partitions", "name: 'delivery-request', partitions"),
	one("event hubs", "has 200 partitions", sizesFile, "partitions: 100", "partitions: 200"),
	one("queues", "has lockDuration 30s", mainFile, "lockDuration: 'PT1M'", "lockDuration: 'PT30S'"),
	one("queues", `"1M" is no duration`, mainFile, "lockDuration: 'PT1M'", "lockDuration: '1M'"),
	one("queues", "has defaultMessageTimeToLive 24h", mainFile, "'P${chosen.lifetimes.queueDays}D'", "'P1D'"),
	one("queues", "has duplicateDetectionHistoryTimeWindow 5m", mainFile, "'PT10M'", "'PT5M'"),
	one("queues", "has maxDeliveryCount 5", mainFile, "maxDeliveryCount: 10", "maxDeliveryCount: 5"),
	one("queues", "has deadLetteringOnMessageExpiration false", queueFile, "deadLetteringOnMessageExpiration: true", "deadLetteringOnMessageExpiration: false"),
	one("queues", "has requiresDuplicateDetection <nil>", queueFile, "requiresDuplicateDetection: true", ""),
	one("queues", "has enablePartitioning", queueFile, "enablePartitioning: false", "enablePartitioning: true"),
	one("queues", "the queues are [compensations transactions]", mainFile, "compensationsQueue, notificationsQueue]", "compensationsQueue]"),
	one("existing resources", "nothing deploys Microsoft.EventHub/namespaces", "infra/modules/eventhubs.bicep", "namespaceName: namespace.name", "namespaceName: '${namespace.name}x'"),
	one("names", `is no name for a Microsoft.Storage/storageAccounts`, mainFile, "name: 'st${token}'", "name: 'st-${token}'"),
	one("names", "have the same host id", apps, "appName: 'func-", "appName: 'function-app-of-drone-delivery-in-azure-"),
	one("database account", "is read with Session consistency", cosmos, "'Strong'", "'Session'"),
	one("database account", "the databases are [fabrikam], not fabricam", mainFile, "database: databaseName\n", "database: 'fabricam'\n"),
	one("containers", "the container drones is deployed, and the code has none", mainFile, "['workflow', 'front']", "['workflow', 'front', 'backends']"),
	one("containers", "the container checkpoints is not deployed", businessFile, `"checkpoints"`, `"checkpoint"`),
	one("containers", "the container checkpoint is deployed, and the code has none", businessFile, `"checkpoints"`, `"checkpoint"`),
	one("containers", "quarantine has the partition key", businessFile, `"/source"`, `"/id"`),
	one("containers", "requests has defaultTtl 60", businessFile, `"ttl": 2592000`, `"ttl": 60`),
	one("containers", "transactions indexes", businessFile, `,
        "/wakeAt/?"`, ""),
	one("containers", "accounts indexes [/account/?]", businessFile, `"ttl": 0,
      "indexed": []`, `"ttl": 0,
      "indexed": ["/account/?"]`),
	one("throughput", "has throughput, and its account is serverless", cosmos, "options: serverless ? {} : {", "options: serverless ? { autoscaleSettings: { maxThroughput: 1000 } } : {"),
	one("tiers", "has 15 processing units", sizesFile, "units: 16", "units: 15"),
	one("", "the param messagingUnits is 3; allowed: [1 2 4 8 16]", sizesFile, "messagingUnits: 16", "messagingUnits: 3"),
	one("tiers", "may be of 80000 MB", sizesFile, "maxMegabytes: 81920", "maxMegabytes: 80000"),
	one("", "the param sku is Basic; allowed: [Standard Premium]", mainFile, "inNetwork ? 'Premium' : chosen.serviceBus.sku", "'Basic'"),
	one("tiers", "has 8 throughput units and grows to 4", sizesFile, "units: 1 //", "units: 8 //"),
	one("", "instanceMemoryMB that is 1024; allowed: 512, 2048, 4096", sizesFile, "instanceMemoryMB: 2048", "instanceMemoryMB: 1024"),
	one("instances", "keeps 512 instances of 500", sizesFile, "{ name: 'http', instanceCount: 27 }", "{ name: 'http', instanceCount: 500 }"),
	one("instances", "runs 5000 HTTP requests", sizesFile, "httpConcurrency: 50", "httpConcurrency: 5000"),
	one("docs/capacity.md", "it is autoscale, 1 781 000 RU/s", sizesFile, "requests: 121000", "requests: 131000"),
	one("docs/capacity.md", "instances of the backends, at most", sizesFile, "maximumInstanceCount: 250 ", "maximumInstanceCount: 260 "),
	one("storage", "packages holds 19872 GB at 10000/s, which takes 198720 RU/s", sizesFile, "packages: 200000", "packages: 198000"),
	one("storage", "assignments has 220000 RU/s, and 10000/s take 223000", sizesFile, "assignments: 246000", "assignments: 220000"),
	one("storage", "transactions holds 107136 GB", sizesFile, "documentDays: 15", "documentDays: 30"),
	one("docs/capacity.md", "it is 99 partitions", sizesFile, "partitions: 100", "partitions: 99"),
	one("throughput", "has autoscale to 121500 RU/s", sizesFile, "requests: 121000", "requests: 121500"),
}
