// What is alerted on. alerts.bicep makes the rules of these lists; each key is
// the heading of a paragraph in docs/operations.md.
//
// severity: 0 critical (an accepted request may be lost), 1 error (somebody must
// act now), 2 warning (today), 3 informational (look at the size).

var business = loadJsonContent('../business.json')

// Metrics of the platform, which are there without any telemetry of our own
// (Microsoft Learn, "Supported metrics with Azure Monitor").
//   of        which resource of alerts.bicep
//   window    how far back it looks, once in every frequency
//   criteria  all of which must hold at once
//   dimension each of whose values is judged by itself; '' for the resource as a
//             whole. EntityName has the names of the queues or hubs as values
@export()
var metricRules = [
  {
    key: 'dead-letters'
    of: 'queues'
    title: 'Dead letters are not taken out of their sub-queue'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 1
    criteria: [
      // 0 at rest: not once in the window was it empty.
      { metric: 'DeadletteredMessages', aggregation: 'Minimum', operator: 'GreaterThan', threshold: 0, dimension: 'EntityName', values: [] }
    ]
  }
  {
    key: 'backlog'
    of: 'queues'
    title: 'Messages wait in a queue'
    window: 'PT30M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'ActiveMessages', aggregation: 'Minimum', operator: 'GreaterThan', threshold: 10000, dimension: 'EntityName', values: [] }
    ]
  }
  {
    key: 'queue-size'
    of: 'queues'
    title: 'A queue holds more than 0.8 GB'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      // Four fifths of the smallest size that a queue can have (Microsoft Learn,
      // "Service Bus quotas"); a full one refuses every message.
      { metric: 'Size', aggregation: 'Maximum', operator: 'GreaterThan', threshold: 858993459, dimension: 'EntityName', values: [] }
    ]
  }
  {
    key: 'throttling'
    of: 'queues'
    title: 'Service Bus throttles'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'ThrottledRequests', aggregation: 'Total', operator: 'GreaterThan', threshold: 0, dimension: '', values: [] }
    ]
  }
  {
    key: 'service-errors'
    of: 'queues'
    title: 'Service Bus fails'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'ServerErrors', aggregation: 'Total', operator: 'GreaterThan', threshold: 10, dimension: '', values: [] }
    ]
  }
  {
    key: 'relay-stands'
    of: 'hubs'
    title: 'Events come into the hub and none is read'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 1
    criteria: [
      // Event Hubs has no metric of a consumer group's lag in the Standard tier.
      { metric: 'IncomingMessages', aggregation: 'Total', operator: 'GreaterThan', threshold: 0, dimension: 'EntityName', values: [] }
      { metric: 'OutgoingMessages', aggregation: 'Total', operator: 'LessThan', threshold: 1, dimension: 'EntityName', values: [] }
    ]
  }
  {
    key: 'throttling'
    of: 'hubs'
    title: 'Event Hubs throttles'
    window: 'PT5M'
    frequency: 'PT1M'
    severity: 1
    criteria: [
      // Requests are being refused with 503.
      { metric: 'ThrottledRequests', aggregation: 'Total', operator: 'GreaterThan', threshold: 0, dimension: 'EntityName', values: [] }
    ]
  }
  {
    key: 'hub-quota'
    of: 'hubs'
    title: 'Event Hubs refuses beyond a quota'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 1
    criteria: [
      { metric: 'QuotaExceededErrors', aggregation: 'Total', operator: 'GreaterThan', threshold: 0, dimension: '', values: [] }
    ]
  }
  {
    key: 'service-errors'
    of: 'hubs'
    title: 'Event Hubs fails'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'ServerErrors', aggregation: 'Total', operator: 'GreaterThan', threshold: 10, dimension: '', values: [] }
    ]
  }
  {
    key: 'throttling'
    of: 'database'
    title: 'Cosmos DB throttles'
    window: 'PT5M'
    frequency: 'PT1M'
    severity: 2
    criteria: [
      // The client repeats a 429 by itself: a few in a spike harm nothing.
      { metric: 'TotalRequests', aggregation: 'Count', operator: 'GreaterThan', threshold: 500, dimension: 'StatusCode', values: ['429'] }
    ]
  }
  {
    key: 'database-load'
    of: 'database'
    title: 'A partition of Cosmos DB is at its limit'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 3
    criteria: [
      { metric: 'NormalizedRUConsumption', aggregation: 'Average', operator: 'GreaterThan', threshold: 90, dimension: 'CollectionName', values: ['*'] }
    ]
  }
  {
    key: 'service-errors'
    of: 'database'
    title: 'Cosmos DB is not available'
    window: 'PT1H'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'ServiceAvailability', aggregation: 'Average', operator: 'LessThan', threshold: 99, dimension: '', values: [] }
    ]
  }
  {
    key: 'throttling'
    of: 'storage'
    title: 'Storage throttles'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'Transactions', aggregation: 'Total', operator: 'GreaterThan', threshold: 0, dimension: 'ResponseType', values: ['ServerBusyError', 'ClientThrottlingError', 'ClientAccountRequestThrottlingError', 'ClientAccountBandwidthThrottlingError'] }
    ]
  }
  {
    key: 'service-errors'
    of: 'storage'
    title: 'Storage is not available'
    window: 'PT15M'
    frequency: 'PT5M'
    severity: 2
    criteria: [
      { metric: 'Availability', aggregation: 'Average', operator: 'LessThan', threshold: 99, dimension: '', values: [] }
    ]
  }
  {
    key: 'sign-ins-refused'
    of: 'workflow'
    title: 'Sign-ins are refused in a burst'
    window: 'PT5M'
    frequency: 'PT1M'
    severity: 2
    criteria: [
      // The platform's own among them, which no request of the host shows.
      { metric: 'Http401', aggregation: 'Total', operator: 'GreaterThan', threshold: 100, dimension: '', values: [] }
    ]
  }
  {
    key: 'front-end-errors'
    of: 'workflow'
    title: 'The workflow app answers 5xx'
    window: 'PT5M'
    frequency: 'PT1M'
    severity: 1
    criteria: [
      { metric: 'Http5xx', aggregation: 'Total', operator: 'GreaterThan', threshold: 100, dimension: '', values: [] }
    ]
  }
  {
    key: 'front-end-errors'
    of: 'backends'
    title: 'The backends app answers 5xx'
    window: 'PT5M'
    frequency: 'PT1M'
    severity: 1
    criteria: [
      { metric: 'Http5xx', aggregation: 'Total', operator: 'GreaterThan', threshold: 100, dimension: '', values: [] }
    ]
  }
]

// Queries on the workspace, which see what the host has written there: its
// requests, and every line of the handler's log as a trace (a JSON object in
// Message). They work without any exporter in the handler. A rule fires when its
// query returns a row.
//   once      it stays fired until somebody closes it: nothing mends by itself
@export()
var logRules = [
  {
    key: 'lost-events'
    title: 'Accepted requests were not relayed, and the hub has them no longer'
    severity: 0
    window: 'PT15M'
    frequency: 'PT5M'
    once: true
    query: '''
AppTraces
| where Message has "events expired before they were relayed"
    or Message has "the hub was recreated"
'''
  }
  {
    key: 'stuck'
    title: 'A transaction is Stuck'
    severity: 1
    window: 'PT15M'
    frequency: 'PT5M'
    once: true
    query: '''
AppTraces
| where Message has "transaction stuck"
'''
  }
  {
    key: 'undo-refused'
    title: 'A backend refuses an undo, or does not let us in'
    severity: 1
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    query: '''
AppTraces
| where Message has "undo refused"
| extend Line = parse_json(Message)
| summarize Refused = sum(ItemCount) by Step = tostring(Line.step), Status = tostring(Line["http.status"])
'''
  }
  {
    key: 'undo-lasts'
    title: 'An undo has lasted for more than an hour'
    severity: 2
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    query: '''
AppTraces
| where Message has "undo lasts long"
| extend Line = parse_json(Message)
| summarize Transactions = dcount(tostring(Line["transaction.id"])) by Step = tostring(Line.step)
'''
  }
  {
    key: 'breaker-open'
    title: 'A backend has been left alone for more than five minutes'
    severity: 2
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    // An instance says it again each time that the backend has not come back, with
    // the time since its breaker opened.
    query: '''
AppTraces
| where Message has "circuit breaker of a backend changed its state"
| extend Line = parse_json(Message)
| where Line.state == "open" and tolong(Line["duration.ms"]) > 300000
| summarize Instances = dcount(AppRoleInstance) by Backend = tostring(Line.backend)
'''
  }
  {
    key: 'sign-ins-refused'
    title: 'Sign-ins are refused in a burst'
    severity: 2
    window: 'PT5M'
    frequency: 'PT5M'
    once: false
    query: '''
AppRequests
| where ResultCode in ("401", "403")
| summarize Refused = sum(ItemCount) by AppRoleName
| where Refused > 100
'''
  }
  {
    key: 'quarantine'
    title: 'Something was put into quarantine'
    severity: 2
    window: 'PT15M'
    frequency: 'PT5M'
    once: true
    query: '''
AppTraces
| where Message has "message quarantined"
'''
  }
  {
    key: 'notices'
    title: 'A notice was given up'
    severity: 3
    window: 'PT1H'
    frequency: 'PT15M'
    once: false
    query: '''
AppTraces
| where Message has "notice given up"
'''
  }
  {
    key: 'failing-functions'
    title: 'Invocations of a function fail'
    severity: 2
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    query: '''
AppTraces
| where Message has "invocation failed"
| extend Function = tostring(parse_json(Message)["function"])
| summarize Failed = sum(ItemCount) by Function
| where Failed >= 20
'''
  }
  {
    key: 'errors'
    title: 'HTTP functions answer 5xx'
    severity: 1
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    query: '''
AppRequests
| where Url has "/api/" and Url !has "/api/ready"
| summarize All = sum(ItemCount), Failed = sumif(ItemCount, ResultCode startswith "5") by AppRoleName
| where All >= 20 and Failed > 0.05 * All
'''
  }
  {
    key: 'crashes'
    title: 'A host stopped, since its handler crashed three times'
    severity: 2
    window: 'PT15M'
    frequency: 'PT5M'
    once: false
    query: '''
union isfuzzy=true AppTraces, AppExceptions
| where Message has "restart retry count" or OuterMessage has "restart retry count"
'''
  }
]

// What the status finds unusual (shared/operate/unusual.go). Sweep logs it once a
// minute while it lasts, with the sentence that the page and ops status show. The key
// is what the line is about.
@export()
var statusRules = [
  { key: 'oldest-waiting', title: 'Transactions wait for long, or nobody answers their wakes', severity: 2 }
  { key: 'buffer', title: 'The buffer of an instance that accepts is nearly full', severity: 1 }
]

// These have metrics of our own where there are any.
@export()
var statusWithoutMetrics = [
  { key: 'lag', title: 'Events wait long before they are worked on', severity: 2 }
  { key: 'overload', title: 'Requests are refused with 503', severity: 1 }
]

// The rest of such a rule; in the query the key has the place of ##about##.
@export()
var byStatus = {
  window: 'PT15M'
  frequency: 'PT5M'
  once: false
  query: '''
AppTraces
| where Message has "something is unusual"
| extend Line = parse_json(Message)
| where tostring(Line.about) == "##about##"
| summarize Minutes = dcount(bin(TimeGenerated, 1m)), Says = take_any(tostring(Line.says)) by Key = tostring(Line.key)
| where Minutes >= 5
'''
}

// What practises an alert: go run ./infra/local drill NAME.
@export()
var drills = {
  'breaker-open': 'backend-down, backend-slow, backend-nonsense'
  'completion-time': 'backend-slow'
  'oldest-waiting': 'backend-slow'
  throttling: 'database-throttled'
  quarantine: 'poison'
  lag: 'hub-behind'
  'relay-stands': 'hub-behind'
  stuck: 'undo-refused'
  'undo-refused': 'undo-refused'
  'undo-lasts': 'undo-refused'
  'service-errors': 'shard-away'
}

// Without metrics of our own, the host's requests show how long Ingest takes.
@export()
var acceptByLogs = {
  key: 'accept-time'
  title: 'Accepting takes too long'
  severity: 2
  window: 'PT15M'
  frequency: 'PT5M'
  once: false
  query: replace('''
AppRequests
| where Url has "/api/##resource##" and ResultCode == "202"
| summarize P99 = percentile(DurationMs, 99), Count = sum(ItemCount)
| where Count >= 20 and P99 > 500
''', '##resource##', business.resource)
}

// Metrics of our own in the Azure Monitor workspace. They are stored under
// their OpenTelemetry names, with dots and without suffixes; a histogram has no
// series _bucket, and le is there in a query alone. The handler sends what was
// added since the last export (delta), of which rate() makes nothing: sums over
// time do (Microsoft Learn, "PromQL best practices for OpenTelemetry metrics").
//   hold      how long it must be true
@export()
var metricsOfOurs = [
  {
    key: 'accept-time'
    title: 'Accepting takes too long'
    severity: 2
    hold: 'PT10M'
    expression: 'histogram_quantile(0.99, sum by (le) ({__name__="${business.metrics}.accept.duration"})) > 0.5'
  }
  {
    key: 'completion-time'
    title: 'Transactions take too long to complete'
    severity: 2
    hold: 'PT15M'
    expression: 'histogram_quantile(0.99, sum by (le) ({__name__="${business.metrics}.transaction.duration", state="Completed"})) > 300'
  }
  {
    key: 'lag'
    title: 'Events or messages wait long before they are worked on'
    severity: 2
    hold: 'PT10M'
    expression: 'histogram_quantile(0.95, sum by (le, queue) ({__name__="${business.metrics}.queue.age"})) > 60'
  }
  {
    key: 'overload'
    title: 'Requests are refused with 503'
    severity: 1
    hold: 'PT5M'
    expression: 'sum(sum_over_time({__name__="${business.metrics}.requests.refused", "http.response.status_code"="503"}[5m])) > 0.01 * (sum(sum_over_time({__name__="${business.metrics}.requests.accepted"}[5m])) or vector(0))'
  }
  {
    key: 'compensations'
    title: 'Many transactions are undone after a failure'
    severity: 2
    hold: 'PT15M'
    expression: 'sum(sum_over_time({__name__="${business.metrics}.compensations", cause="failed"}[15m])) > 0.1 * (sum(sum_over_time({__name__="${business.metrics}.requests.accepted"}[15m])) or vector(0))'
  }
  {
    key: 'lost-telemetry'
    title: 'Telemetry is dropped'
    severity: 3
    hold: 'PT15M'
    expression: 'sum by (signal) (sum_over_time({__name__="${business.metrics}.telemetry.dropped"}[15m])) > 0'
  }
]
