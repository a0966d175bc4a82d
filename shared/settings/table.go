package settings

import (
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/shared/business"
)

// Variable is one environment variable.
type Variable struct {
	Name    string
	Default string // "" if it is computed or there is none
	Meaning string
	parser
}

const (
	// The names of hub and queues are parts of the ids of documents, which can't
	// have the / that Service Bus allows, and are shorter.
	entityName   = `[A-Za-z0-9]([A-Za-z0-9._-]{0,178}[A-Za-z0-9])?`
	entityWords  = "an entity's name: letters, digits and ._-, up to 180"
	groupName    = `\$Default|[A-Za-z0-9]([A-Za-z0-9._-]{0,48}[A-Za-z0-9])?`
	databaseName = `[^/\\#?]{0,254}[^/\\#? ]`
	filePath     = `[^\x00]*`
	clientID     = `[0-9A-Za-z-]*`
	tracePage    = `|https?://[!#-;=?-\[\]_a-z~%]+\{traceId\}[!#-;=?-\[\]_a-z~%]*`
	ncrontab     = `\S+( \S+){5}`
)

// Variables are all of them but the connections and the port, in the order of
// docs/settings.md: the system's own, and among them those of its business.
func Variables(b business.Business) []Variable { return new(Settings).variables(b) }

// variables are those that are read into s, which is new.
func (s *Settings) variables(b business.Business) []Variable {
	s.Backends.URLs, s.Business = map[string]string{}, business.Values{}
	all := s.entities()
	for _, backend := range b.Backends {
		all = append(all, Variable{BackendVariable(backend.Name), "", "where the backend " + backend.Name + " is", s.backendAddress(backend.Name)})
	}
	all = append(all, s.calls()...)
	for _, setting := range b.Settings {
		all = append(all, Variable{setting.Name, setting.Default, setting.Text, s.ofBusiness(setting)})
	}
	return slices.Concat(all, s.notices(b.Name), s.others())
}

// BackendVariable names the variable that says where a backend is.
func BackendVariable(name string) string {
	return "BACKEND_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_")) + "_URL"
}

// entities are the variables of what is outside.
func (s *Settings) entities() []Variable {
	return []Variable{
		{"SHARD", "1", "the number of the shard whose hub, queues and database these are (docs/adr/0031-shards.md)", whole(&s.Shard, 1, 65_535)},
		{"EVENTHUB_NAME", "requests", "the event hub of the accepted requests", text(&s.EventHub, entityName, entityWords)},
		{"EVENTHUB_CONSUMER_GROUP", "relay", "the consumer group of Relay", text(&s.ConsumerGroup, groupName, "a consumer group's name")},
		{"TRANSACTIONS_QUEUE", "transactions", "the queue of Schedule", text(&s.TransactionsQueue, entityName, entityWords)},
		{"COMPENSATIONS_QUEUE", "compensations", "the queue of Supervise", text(&s.CompensationsQueue, entityName, entityWords)},
		{"NOTIFICATIONS_QUEUE", "notifications", "the queue of Notify", text(&s.NotificationsQueue, entityName, entityWords)},
		{"COSMOSDB_DATABASE", "fabrikam", "the database of all containers",
			text(&s.Database, databaseName, "a database's name, without /, \\, # and ?")},
		{"SWEEP_SCHEDULE", "*/30 * * * * *", "when Sweep looks for overdue transactions",
			text(&s.SweepSchedule, ncrontab, "an NCRONTAB expression of six fields")},
		{"RELAY_QUIET_SECONDS", "120", "how long a partition must be quiet before Sweep's timer hands over the events that the trigger skipped; longer than the pauses between the trigger's attempts",
			span(&s.RelayQuiet, time.Second, 0.1, 86_400)},
		{"SCHEDULER", "queue", "where accepted requests are worked off: by Schedule, from the queue (queue); by Relay, which leaves what is slow to the queue (stream); by Relay, which waits for it (batch)",
			choice(&s.Scheduler.Mode, Schedulers...)},
		{"SCHEDULER_IN_FLIGHT", "200", "transactions that Relay works on at once for one batch, with stream and batch",
			whole(&s.Scheduler.InFlight, 1, 1000)},
		{"STREAM_PATIENCE_SECONDS", "1", "how long Relay works on one transaction before the queue gets it, with stream",
			span(&s.Scheduler.Patience, time.Second, 0, 200)},
		{"EVENTHUB_BATCH_EVENTS", "200", "events of one batch at most (maxEventBatchSize in host.json)",
			whole(&s.Scheduler.BatchEvents, 1, 1000)},
	}
}

// calls are those of the calls to the backends, the budgets and the writer.
func (s *Settings) calls() []Variable {
	return []Variable{
		{"BACKEND_KEY", "", "the function key sent with every call to a backend", secret(&s.Backends.Key)},
		{"BACKEND_AUDIENCE", "", "the audience of the backends: calls carry a token for it, of this app's identity; empty: no token",
			reference(&s.Backends.Audience)},
		{"BACKEND_CLIENT_ID", "", "the managed identity that gets this token; empty: the default chain of credentials",
			text(&s.Backends.ClientID, clientID, "a client id, or nothing")},
		{"BACKEND_CONCURRENCY", "256", "how many calls to one backend may be under way in one handler",
			whole(&s.Backends.Concurrency, 1, 10_000)},
		{"BREAKER_FAILURE_RATIO", "0.5", "the share of failures among the latest calls to one backend that opens its circuit breaker",
			decimal(&s.Backends.Breaker.FailureRatio, 0.01, 1)},
		{"BREAKER_MIN_CALLS", "20", "how many calls the window must hold before a circuit breaker opens",
			whole(&s.Backends.Breaker.MinCalls, 1, 100_000)},
		{"BREAKER_WINDOW_SECONDS", "10", "how far back calls count for a circuit breaker",
			span(&s.Backends.Breaker.Window, time.Second, 0.1, 600)},
		{"BREAKER_DELAY_SECONDS", "10", "how long an open circuit breaker blocks all calls; up to a quarter is added at random",
			span(&s.Backends.Breaker.Delay, time.Second, 0.01, 600)},
		{"BREAKER_PROBES", "3", "how many calls an open circuit breaker then lets through; it closes if all succeed",
			whole(&s.Backends.Breaker.Probes, 1, 1000)},

		{"CALL_TIMEOUT_SECONDS", "2", "one call to a backend", span(&s.Budgets.Call, time.Second, 0.01, 60)},
		{"STEP_TIMEOUT_SECONDS", "10", "all attempts of one step in one invocation", span(&s.Budgets.Step, time.Second, 0.01, 120)},
		{"INVOCATION_TIMEOUT_SECONDS", "45", "one event; after this the handler fails the event itself",
			span(&s.Budgets.Invocation, time.Second, 0.1, 240)},
		{"MESSAGE_LOCK_SECONDS", "60", "the lock duration of the queues", span(&s.Budgets.MessageLock, time.Second, 5, 300)},
		{"LOCK_RENEWAL_SECONDS", "300", "how long the host renews a lock (maxAutoLockRenewalDuration in host.json)",
			span(&s.Budgets.LockRenewal, time.Second, 5, 3600)},
		{"FUNCTION_TIMEOUT_SECONDS", "300", "when the host kills the handler (functionTimeout in host.json)",
			span(&s.Budgets.FunctionTimeout, time.Second, 1, 600)},
		{"LEASE_SECONDS", "60", "a runner's hold on a transaction", span(&s.Budgets.Lease, time.Second, 0.2, 600)},
		// A lease is longer than that, by the rule of CALL_TIMEOUT_SECONDS.
		{"SAVE_EVERY_MS", "500", "milliseconds that a transaction's first run may go on without a save, while all goes well (ADR 28); 0 saves after each stage",
			span(&s.Budgets.SaveEvery, time.Millisecond, 0, 5000)},
		{"LATER_MIN_SECONDS", "5", "the first delay before a step is retried later", span(&s.Budgets.LaterMin, time.Second, 0.05, 3600)},
		{"LATER_MAX_SECONDS", "300", "the longest delay", span(&s.Budgets.LaterMax, time.Second, 0.1, 86_400)},
		{"DUPLICATE_WINDOW_SECONDS", "600", "the duplicate detection window of the queues",
			span(&s.Budgets.DuplicateWindow, time.Second, 20, 604_800)},
		{"MAX_DELIVERY_COUNT", "10", "how many times a message may be received before it is dead-lettered",
			whole(&s.Budgets.MaxDeliveryCount, 2, 2000)},
		{"CALL_ATTEMPTS", "3", "calls of one step in one invocation; after these the step waits for a later wake",
			whole(&s.Budgets.CallAttempts, 1, 20)},
		{"UNDO_ATTEMPTS", "400", "how many wakes may end with a failed undo before the transaction is Stuck; at the longest delay 400 wakes take about a day",
			whole(&s.Budgets.UndoAttempts, 1, 100_000)},
		{"DEAD_LETTERS", "3", "how many times messages of one transaction may be dead-lettered, without a call's result in between, before the transaction is Stuck",
			whole(&s.Budgets.DeadLetters, 1, 1000)},
		{"COMPLETE_BY_HOURS", "24", "the time limit of a transaction, from its first start",
			span(&s.Budgets.CompleteBy, time.Hour, 0.001, 336)},
		{"DOCUMENT_TTL_DAYS", "30", "how long final transactions, kept requests, tombstones and the quarantine live",
			span(&s.Budgets.DocumentTTL, 24*time.Hour, 0.01, 3650)},
		{"HUB_RETENTION_HOURS", "168", "the retention of the event hub", span(&s.Budgets.HubRetention, time.Hour, 0.1, 2160)},
		{"QUEUE_TTL_HOURS", "336", "the time to live of messages in the queues", span(&s.Budgets.QueueTTL, time.Hour, 0.1, 8760)},
		{"ACCEPT_TIMEOUT_SECONDS", "10", "how long Ingest waits for the acknowledgement of its event",
			span(&s.Budgets.Accept, time.Second, 0.05, 200)},
		{"ACCEPT_TARGET_MS", "200", "milliseconds in which Ingest is to answer; it refuses with 503 what it can't answer so, but never the first 100 at once",
			span(&s.Budgets.AcceptTarget, time.Millisecond, 10, 10_000)},

		{"WRITER_BATCH_EVENTS", "500", "events after which a batch is sent", whole(&s.Writer.Events, 1, 10_000)},
		{"WRITER_BATCH_BYTES", "262144", "bytes after which a batch is sent", whole(&s.Writer.Bytes, 80_000, 1_048_576)},
		{"WRITER_LINGER_MS", "25", "milliseconds that an event waits for company at most, while others come, too",
			span(&s.Writer.Linger, time.Millisecond, 0, 25)},
		{"WRITER_BUFFER_EVENTS", "5000", "how many events may wait in an instance; more are refused with 503",
			whole(&s.Writer.BufferEvents, 1, 1_000_000)},
	}
}

// notices are those of the news for whoever wants to hear of a business.
func (s *Settings) notices(business string) []Variable {
	return []Variable{
		{"NOTIFY_URL", "", "the address that hears of each transaction that comes to rest (docs/notifications.md); empty: no news",
			safe(&s.Notify.URL)},
		{"NOTIFY_SIGNING_KEY", "", "the key that signs this news: whsk_ and 32 bytes in base64", secret(&s.Notify.Key)},
		{"NOTIFY_SIGNING_KEY_PREVIOUS", "", "the previous key, which also signs while receivers learn the new one",
			secret(&s.Notify.PreviousKey)},
		{"NOTIFY_SOURCE", "/fabrikam/" + business, "the source of the CloudEvents", reference(&s.Notify.Source)},
		{"NOTIFY_HOURS", "72", "the age at which a notice that nobody has taken is given up",
			span(&s.Notify.GiveUpAfter, time.Hour, 0.001, 8760)},
		{"NOTIFY_CONCURRENCY", "16", "how many calls to NOTIFY_URL, and how many mails, may be under way in one handler",
			whole(&s.Notify.Concurrency, 1, 10_000)},
		{"SMTP_URL", "", "the server that takes mail to people who asked to be told: smtp://host:port, with STARTTLS unless it is this machine, or smtps://host:port (docs/notifications.md); empty: no mail",
			mailServer(&s.Notify.Mail.URL)},
		{"SMTP_USER", "", "who signs in at this server; empty: nobody", text(&s.Notify.Mail.User, `[^\x00-\x1f]*`, "a name, or nothing")},
		{"SMTP_PASSWORD", "", "the password of SMTP_USER", secret(&s.Notify.Mail.Password)},
		{"MAIL_FROM", "", "the sender of the mail: an address, with a name before it or without", mailbox(&s.Notify.Mail.From)},
		{"SMTP_TIMEOUT_SECONDS", "10", "one mail: half of it for the connection, half for the mail", span(&s.Notify.Mail.Timeout, time.Second, 0.1, 60)},
	}
}

// others are who may call, and how it is watched.
func (s *Settings) others() []Variable {
	return []Variable{
		{"AUTH_MODE", "off", "who checks the callers: nobody (off), the host by function keys (keys), the handler by Entra ID's tokens (entra); docs/security.md",
			choice(&s.Auth.Mode, AuthOff, AuthKeys, AuthEntra)},
		{"AUTH_ISSUER", "", "the issuer of the tokens; its OpenID configuration names its keys", safe(&s.Auth.Issuer)},
		{"AUTH_AUDIENCE", "", "the audiences whose tokens are accepted", list(&s.Auth.Audiences)},
		{"AUTH_ACCOUNT_CLAIM", "oid", "the token's claim with the accounts on which its bearer may act, a text or a list of texts; none: any account",
			accountClaim(&s.Auth.AccountClaim)},
		{"ID_KEYS", "", "the keys that sign minted ids, separated by commas, the current key first: each a number from 0 to 255, a dot, and 32 bytes in base64; empty, on a developer's machine only: a key for this process",
			secret(&s.IDKeys)},
		{"RATE_LIMIT_PER_SECOND", "0", "requests that one caller may send to the HTTP functions of one handler, except the backends; 0: no limit",
			decimal(&s.RateLimit.PerSecond, 0, 1_000_000)},
		{"RATE_LIMIT_BURST", "100", "requests that one caller may send at once", whole(&s.RateLimit.Burst, 1, 1_000_000)},

		{"TRACE_FILE", "", "a file that collects spans as JSON lines (docs/telemetry.md)",
			text(&s.Telemetry.TraceFile, filePath, "a path, or nothing")},
		{"TRACE_RATIO", "1", "the share of traces that is recorded; the trace's id decides, alike in all handlers",
			decimal(&s.Telemetry.TraceRatio, 0, 1)},
		{"TRACE_URL", "", "where people look at a trace, as the operators' page links to it, with {traceId} in the place of its id; empty: no link",
			text(&s.Telemetry.TraceURL, tracePage, "a URL with http or https that has {traceId} in it, or nothing")},
		{"PROMETHEUS_METRICS", "false", "whether GET /metrics at the handler's own port shows the metrics, which the local host shows as /api/metrics",
			truth(&s.Telemetry.Prometheus)},
		{"OTLP_AUTH_SCOPE", "", "the scope of the token that each OTLP export carries; empty: no token", reference(&s.Telemetry.OTLPScope)},
		{"OTLP_CLIENT_ID", "", "the managed identity that gets this token; empty: the default chain of credentials",
			text(&s.Telemetry.OTLPClientID, clientID, "a client id, or nothing")},

		{"EVENT_CONCURRENCY", "256", "events of one function that run at once in one handler", whole(&s.EventConcurrency, 1, 10_000)},
		{"CLOCK_OFFSET_SECONDS", "0", "only for fault injection: how far the handler's clock is ahead; below 0, behind",
			span(&s.ClockOffset, time.Second, -4, 4)},
		{"LOG_LEVEL", "info", "what is logged", level(&s.LogLevel)},
	}
}
