package settings_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/ingest"
	"github.com/fabrikam/drone-delivery/shared/quarantine"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

const (
	hub        = "Endpoint=sb://127.0.0.1:5672;SharedAccessKeyName=Root;SharedAccessKey=verysecret;UseDevelopmentEmulator=true;"
	signingKey = "whsk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	idKey      = "1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	cosmos     = "AccountEndpoint=http://127.0.0.1:8081;AccountKey=verysecret=="
)

// env is a working environment with some changes; an empty value unsets.
func env(changes ...string) func(string) string {
	values := map[string]string{
		"FUNCTIONS_CUSTOMHANDLER_PORT": "4001",
		"WEBSITE_HOSTNAME":             "localhost:7071",
		"EventHubs":                    hub,
		"ServiceBus":                   hub,
		"CosmosDB":                     cosmos,
	}
	for i := 0; i < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
	}
	return func(name string) string { return values[name] }
}

func TestDefaults(t *testing.T) {
	got, err := settings.Load(chosen.Business(), env())
	if err != nil {
		t.Fatal(err)
	}
	const own = "http://localhost:7071/api"
	want := settings.Settings{
		Port:       4001,
		EventHubs:  settings.Connection{ConnectionString: settings.NewSecret(hub)},
		ServiceBus: settings.Connection{ConnectionString: settings.NewSecret(hub)},
		CosmosDB:   settings.Connection{ConnectionString: settings.NewSecret(cosmos)},
		EventHub:   "requests", ConsumerGroup: "relay",
		TransactionsQueue: "transactions", CompensationsQueue: "compensations", NotificationsQueue: "notifications",
		Shard: 1, Database: "fabrikam", SweepSchedule: "*/30 * * * * *", RelayQuiet: 2 * time.Minute,
		Scheduler: settings.Scheduler{Mode: settings.SchedulerQueue, InFlight: 200, BatchEvents: 200, Patience: time.Second},
		Backends: settings.Backends{URLs: map[string]string{"account": own, "package": own, "transportation": own, "drone": own, "delivery": own}, Concurrency: 256,
			Breaker: failure.Breaker{FailureRatio: 0.5, MinCalls: 20, Window: 10 * time.Second, Delay: 10 * time.Second, Probes: 3}},
		Budgets: settings.Budgets{
			Call: 2 * time.Second, Step: 10 * time.Second, Invocation: 45 * time.Second,
			MessageLock: time.Minute, LockRenewal: 5 * time.Minute, FunctionTimeout: 5 * time.Minute,
			LaterMin: 5 * time.Second, LaterMax: 5 * time.Minute, Lease: time.Minute, SaveEvery: 500 * time.Millisecond,
			DuplicateWindow: 10 * time.Minute, CompleteBy: 24 * time.Hour, DocumentTTL: 30 * 24 * time.Hour,
			HubRetention: 7 * 24 * time.Hour, QueueTTL: 14 * 24 * time.Hour, Accept: 10 * time.Second, AcceptTarget: 200 * time.Millisecond, MaxDeliveryCount: 10,
			CallAttempts: 3, UndoAttempts: 400, DeadLetters: 3,
		},
		Writer: ingest.Limits{Events: 500, Bytes: 262_144, Linger: 25 * time.Millisecond, BufferEvents: 5000},
		Business: business.Values{"FLEET_DRONES": 1000, "FLEET_ZONES": 10, "FLEET_SPEED_KMH": 60.0, "FLEET_CAPACITY_KG": 20.0, "FLIGHT_TIME_SCALE": 1.0,
			"PICKUP_HORIZON_DAYS": 30 * 24 * time.Hour, "CARRIER_DISTANCE_KM": 40.0},
		Notify:           settings.Notify{Source: "/fabrikam/drone-delivery", GiveUpAfter: 72 * time.Hour, Concurrency: 16, Mail: settings.Mail{Timeout: 10 * time.Second}},
		EventConcurrency: 256,
		Auth:             settings.Auth{Mode: settings.AuthOff, AccountClaim: "oid"},
		RateLimit:        settings.RateLimit{Burst: 100},
		Telemetry:        settings.Telemetry{TraceRatio: 1},
		LogLevel:         slog.LevelInfo,
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(settings.Secret{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadReads(t *testing.T) {
	tests := []struct {
		name    string
		changes []string
		got     func(settings.Settings) any
		want    any
	}{
		{"older port", []string{"FUNCTIONS_CUSTOMHANDLER_PORT", "", "FUNCTIONS_HTTPWORKER_PORT", "5"}, func(s settings.Settings) any { return s.Port }, 5},
		{"newer port wins", []string{"FUNCTIONS_HTTPWORKER_PORT", "5"}, func(s settings.Settings) any { return s.Port }, 4001},
		{"decimals", []string{"CALL_TIMEOUT_SECONDS", "0.25"}, func(s settings.Settings) any { return s.Budgets.Call }, 250 * time.Millisecond},
		{"hours", []string{"COMPLETE_BY_HOURS", "1.5"}, func(s settings.Settings) any { return s.Budgets.CompleteBy }, 90 * time.Minute},
		{"milliseconds", []string{"WRITER_LINGER_MS", "2.5"}, func(s settings.Settings) any { return s.Writer.Linger }, 2500 * time.Microsecond},
		{"level", []string{"LOG_LEVEL", "Debug"}, func(s settings.Settings) any { return s.LogLevel }, slog.LevelDebug},
		{"backend in Azure", []string{"WEBSITE_HOSTNAME", "app.azurewebsites.net"}, func(s settings.Settings) any { return s.Backends.URLs["drone"] }, "https://app.azurewebsites.net/api"},
		{"backend on loopback", []string{"WEBSITE_HOSTNAME", "127.0.0.1:80"}, func(s settings.Settings) any { return s.Backends.URLs["drone"] }, "http://127.0.0.1:80/api"},
		{"backend elsewhere", []string{"BACKEND_DRONE_URL", "http://drones:9/x/"}, func(s settings.Settings) any { return s.Backends.URLs["drone"] }, "http://drones:9/x"},
		{"identity", []string{"ServiceBus", "", "ServiceBus__fullyQualifiedNamespace", "ns.servicebus.windows.net", "ServiceBus__credential", "managedidentity", "ServiceBus__clientId", "c-1"},
			func(s settings.Settings) any { return s.ServiceBus.String() }, "identity c-1 at ns.servicebus.windows.net"},
		{"identity for Cosmos DB", []string{"CosmosDB", "", "CosmosDB__accountEndpoint", "https://a.documents.azure.com:443/"},
			func(s settings.Settings) any { return s.CosmosDB.String() }, "identity at https://a.documents.azure.com:443/"},
		{"a plain value wins", []string{"ServiceBus__fullyQualifiedNamespace", "ns.servicebus.windows.net"},
			func(s settings.Settings) any { return s.ServiceBus.Address }, ""},
		{"receiver", []string{"NOTIFY_URL", "https://example.com/hook", "NOTIFY_SIGNING_KEY", signingKey}, func(s settings.Settings) any { return s.Notify.URL }, "https://example.com/hook"},
		{"receiver here", []string{"NOTIFY_URL", "http://127.0.0.1:1/hook", "NOTIFY_SIGNING_KEY", signingKey}, func(s settings.Settings) any { return s.Notify.On() }, true},
		{"traces", []string{"TRACE_URL", "http://127.0.0.1:3000/explore?q=%22{traceId}%22&t=1"}, func(s settings.Settings) any { return s.Telemetry.TraceURL }, "http://127.0.0.1:3000/explore?q=%22{traceId}%22&t=1"},
		{"mail alone", []string{"SMTP_URL", "smtp://mail.example.com:587", "MAIL_FROM", "Fabrikam <noreply@example.com>"}, func(s settings.Settings) any { return s.Notify.On() }, true},
		{"no receiver, but a key", []string{"NOTIFY_SIGNING_KEY", signingKey}, func(s settings.Settings) any { return s.Notify.On() }, false},
		{"token", []string{"AUTH_MODE", "entra", "AUTH_ISSUER", "https://login.example.com/t/v2.0", "AUTH_AUDIENCE", "api://a, b", "ID_KEYS", idKey},
			func(s settings.Settings) any { return s.Auth },
			settings.Auth{Mode: settings.AuthEntra, Issuer: "https://login.example.com/t/v2.0", Audiences: []string{"api://a", "b"}, AccountClaim: "oid"}},
		{"any account", []string{"AUTH_ACCOUNT_CLAIM", "none"}, func(s settings.Settings) any { return s.Auth.AccountClaim }, ""},
		{"accounts of a claim", []string{"AUTH_ACCOUNT_CLAIM", "extension_accounts"}, func(s settings.Settings) any { return s.Auth.AccountClaim }, "extension_accounts"},
		{"metrics page", []string{"PROMETHEUS_METRICS", "true"}, func(s settings.Settings) any { return s.Telemetry.Prometheus }, true},
		{"key", []string{"BACKEND_KEY", "k"}, func(s settings.Settings) any { return s.Backends.Key.Reveal() }, "k"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := settings.Load(chosen.Business(), env(test.changes...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, test.got(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Ensure that what is kept of the entities with the longest names that settings
// allow can be shown and redriven.
func TestNamesFitTheQuarantine(t *testing.T) {
	name := "A" + strings.Repeat("._-9", 44) + "zzz"
	s, err := settings.Load(chosen.Business(), env("EVENTHUB_NAME", name, "TRANSACTIONS_QUEUE", name))
	if err != nil || len(name) != 180 {
		t.Fatalf("%d: %v", len(name), err)
	}
	for _, source := range []string{
		quarantine.EventSource(s.EventHub, "1023"), quarantine.QueueSource(s.TransactionsQueue), quarantine.DeadLetterSource(s.TransactionsQueue),
	} {
		if id := quarantine.EntryID(quarantine.Entry{Source: source, SequenceNumber: math.MaxInt64}); !quarantine.ValidEntryID(source, id) {
			t.Errorf("%s is no entry's id", id)
		}
	}
}

// Ensure that a business can't take a name of the system's, or one of its own twice.
func TestNamesAreTakenOnce(t *testing.T) {
	for _, name := range []string{"LOG_LEVEL", "FLEET_DRONES", "BACKEND_DRONE_URL"} {
		b := chosen.Business()
		b.Settings = append(slices.Clone(b.Settings), business.Setting{Name: name, Default: "info"})
		if _, err := settings.Load(b, env()); err == nil || !strings.Contains(err.Error(), name+": there are two settings of this name") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct {
		name    string
		changes []string
		want    []string // a line each
	}{
		{"port missing", []string{"FUNCTIONS_CUSTOMHANDLER_PORT", ""}, []string{"FUNCTIONS_CUSTOMHANDLER_PORT: is not set"}},
		{"port wrong", []string{"FUNCTIONS_CUSTOMHANDLER_PORT", "70000"}, []string{`FUNCTIONS_CUSTOMHANDLER_PORT: "70000" is not allowed; allowed: a port from 1 to 65535`}},
		{"everything at once", []string{"EventHubs", "", "CALL_TIMEOUT_SECONDS", "soon", "FLEET_DRONES", "0", "LOG_LEVEL", "loud"}, []string{
			"EventHubs: is not set; allowed: a connection string, or EventHubs__fullyQualifiedNamespace",
			`CALL_TIMEOUT_SECONDS: "soon" is not a number; allowed: a number from 0.01 to 60`,
			`FLEET_DRONES: "0" is out of range; allowed: a whole number from 1 to 1000000`,
			`LOG_LEVEL: "loud" is not a level; allowed: debug, info, warn or error`}},
		{"not whole", []string{"FLEET_DRONES", "1.5"}, []string{`FLEET_DRONES: "1.5" is not a whole number`}},
		{"not finite", []string{"STEP_TIMEOUT_SECONDS", "NaN"}, []string{`STEP_TIMEOUT_SECONDS: "NaN" is not a number`}},
		{"half a connection string", []string{"ServiceBus", "Endpoint=sb://x;SharedAccessKey=verysecret"}, []string{"ServiceBus: the connection string has no SharedAccessKeyName"}},
		{"half a Cosmos DB string", []string{"CosmosDB", "AccountKey=verysecret;AccountEndpoint="}, []string{"CosmosDB: the connection string has no AccountEndpoint"}},
		{"namespace as URL", []string{"EventHubs", "", "EventHubs__fullyQualifiedNamespace", "sb://ns"}, []string{`EventHubs__fullyQualifiedNamespace: "sb://ns" is not allowed`}},
		{"endpoint as name", []string{"CosmosDB", "", "CosmosDB__accountEndpoint", "account"}, []string{`CosmosDB__accountEndpoint: "account" is not allowed`}},
		{"credential", []string{"CosmosDB", "", "CosmosDB__accountEndpoint", "https://a", "CosmosDB__credential", "password"}, []string{`CosmosDB__credential: "password" is not allowed; allowed: managedidentity`}},
		{"client id", []string{"CosmosDB", "", "CosmosDB__accountEndpoint", "https://a", "CosmosDB__clientId", "c"}, []string{`CosmosDB__clientId: needs CosmosDB__credential=managedidentity`}},
		{"an entity", []string{"EventHubs", hub + "EntityPath=other"}, []string{"EventHubs: the connection string has an EntityPath"}},
		{"a queue in a folder", []string{"TRANSACTIONS_QUEUE", "team/transactions"}, []string{`TRANSACTIONS_QUEUE: "team/transactions" does not fit; allowed: an entity's name: letters, digits and ._-, up to 180`}},
		{"other names with a slash", []string{"COMPENSATIONS_QUEUE", "a/b", "NOTIFICATIONS_QUEUE", "a/b", "EVENTHUB_NAME", "a/b"}, []string{
			`EVENTHUB_NAME: "a/b" does not fit`, `COMPENSATIONS_QUEUE: "a/b" does not fit`, `NOTIFICATIONS_QUEUE: "a/b" does not fit`}},
		{"a name that is too long", []string{"EVENTHUB_NAME", strings.Repeat("h", 181)}, []string{`EVENTHUB_NAME: "hhh`}},
		{"schedule", []string{"SWEEP_SCHEDULE", "* * * * *"}, []string{"SWEEP_SCHEDULE"}},
		{"no host name", []string{"WEBSITE_HOSTNAME", ""}, []string{
			"BACKEND_ACCOUNT_URL: is not set", "BACKEND_PACKAGE_URL: is not set", "BACKEND_TRANSPORTATION_URL: is not set",
			"BACKEND_DRONE_URL: is not set", "BACKEND_DELIVERY_URL: is not set"}},
		{"receiver without TLS", []string{"NOTIFY_URL", "http://example.com", "NOTIFY_SIGNING_KEY", signingKey}, []string{`NOTIFY_URL: "http://example.com" is not protected by TLS; allowed: a URL with https`}},
		{"receiver with a key", []string{"NOTIFY_URL", "https://example.com?code=1", "NOTIFY_SIGNING_KEY", signingKey}, []string{`NOTIFY_URL: "https://example.com?code=1" is not such a URL`}},
		{"receiver of another kind", []string{"NOTIFY_URL", "ftp://127.0.0.1", "NOTIFY_SIGNING_KEY", signingKey}, []string{`NOTIFY_URL`}},
		{"mail server without a port", []string{"SMTP_URL", "smtp://mail.example.com", "MAIL_FROM", "a@example.com"}, []string{`SMTP_URL: "smtp://mail.example.com" is not such a URL`}},
		{"mail server of another kind", []string{"SMTP_URL", "https://mail.example.com:443", "MAIL_FROM", "a@example.com"}, []string{"SMTP_URL"}},
		{"mail server with a password", []string{"SMTP_URL", "smtp://a:b@mail.example.com:587", "MAIL_FROM", "a@example.com"}, []string{"SMTP_URL"}},
		{"sender", []string{"MAIL_FROM", "nobody"}, []string{`MAIL_FROM: "nobody" is no address`}},
		{"source", []string{"NOTIFY_SOURCE", "a b"}, []string{`NOTIFY_SOURCE: "a b" is not one`}},
		{"signing keys", []string{"NOTIFY_URL", "https://example.com", "NOTIFY_SIGNING_KEY", "whsk_verysecret", "NOTIFY_SIGNING_KEY_PREVIOUS", "@Microsoft.KeyVault(SecretUri=https://verysecret)"},
			[]string{"NOTIFY_SIGNING_KEY must be whsk_", "NOTIFY_SIGNING_KEY_PREVIOUS must be whsk_"}},
		{"mode", []string{"AUTH_MODE", "password"}, []string{`AUTH_MODE: "password" is none of them; allowed: one of off, keys, entra`}},
		{"traces without an id", []string{"TRACE_URL", "https://traces.example.com/"}, []string{`TRACE_URL: "https://traces.example.com/" does not fit; allowed: a URL with http or https that has {traceId} in it`}},
		{"traces by script", []string{"TRACE_URL", "javascript:alert('{traceId}')"}, []string{`TRACE_URL`}},
		{"traces in markup", []string{"TRACE_URL", `https://traces.example.com/"><b>{traceId}`}, []string{`TRACE_URL`}},
		{"issuer on the way", []string{"AUTH_ISSUER", "http://login.example.com"}, []string{`AUTH_ISSUER: "http://login.example.com" is not protected by TLS`}},
		{"audiences", []string{"AUTH_AUDIENCE", "a,,b"}, []string{`AUTH_AUDIENCE: "a,,b" has an empty value`}},
		{"claim", []string{"AUTH_ACCOUNT_CLAIM", "a b"}, []string{`AUTH_ACCOUNT_CLAIM: "a b" is not a claim's name; allowed: a claim's name, or none`}},
		{"truth", []string{"PROMETHEUS_METRICS", "yes"}, []string{`PROMETHEUS_METRICS: "yes" is neither; allowed: true or false`}},
		{"URL", []string{"BACKEND_DRONE_URL", "drones"}, []string{`BACKEND_DRONE_URL: "drones" is not such a URL`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := settings.Load(chosen.Business(), env(test.changes...))
			if err == nil {
				t.Fatal("accepted")
			}
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(test.want) {
				t.Fatalf("got %d lines, want %d:\n%v", len(lines), len(test.want), err)
			}
			for i, want := range test.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("got  %s\nwant %s", lines[i], want)
				}
			}
			if strings.Contains(err.Error(), "verysecret") {
				t.Errorf("the error shows a secret: %v", err)
			}
		})
	}
}

// TestRules breaks each rule by one variable and expects its line.
func TestRules(t *testing.T) {
	breaks := map[string][]string{
		"CALL_TIMEOUT_SECONDS (10s)": {"CALL_TIMEOUT_SECONDS", "10"},
		"CALL_TIMEOUT_SECONDS (2s) must not be more than BREAKER_DELAY_SECONDS": {"BREAKER_DELAY_SECONDS", "1"},
		"STEP_TIMEOUT_SECONDS (45s)":                                        {"STEP_TIMEOUT_SECONDS", "45"},
		"INVOCATION_TIMEOUT_SECONDS (1m0s) must be less than LEASE_SECONDS": {"INVOCATION_TIMEOUT_SECONDS", "60"},
		"CALL_TIMEOUT_SECONDS (3s) and 5s must be less than LEASE_SECONDS (8s)": {"CALL_TIMEOUT_SECONDS", "3", "LEASE_SECONDS", "8",
			"STEP_TIMEOUT_SECONDS", "4", "INVOCATION_TIMEOUT_SECONDS", "5"},
		"INVOCATION_TIMEOUT_SECONDS (45s) must be less than FUNCTION_TIMEOUT_SECONDS": {"FUNCTION_TIMEOUT_SECONDS", "45"},
		"INVOCATION_TIMEOUT_SECONDS (45s) must not be more than LOCK_RENEWAL_SECONDS": {"LOCK_RENEWAL_SECONDS", "44"},
		"MESSAGE_LOCK_SECONDS (1m0s) must not be more than LOCK_RENEWAL_SECONDS":      {"LOCK_RENEWAL_SECONDS", "59"},
		"LEASE_SECONDS (6m0s) must not be more than LOCK_RENEWAL_SECONDS":             {"LEASE_SECONDS", "360"},
		"LEASE_SECONDS (1m0s) must be less than DUPLICATE_WINDOW_SECONDS":             {"DUPLICATE_WINDOW_SECONDS", "60"},
		"LATER_MIN_SECONDS (5m0s)":                                              {"LATER_MIN_SECONDS", "300"},
		"LATER_MAX_SECONDS (5m0s) must be less than COMPLETE_BY_HOURS":          {"COMPLETE_BY_HOURS", "0.05"},
		"LATER_MAX_SECONDS (6m40s) must be less than QUEUE_TTL_HOURS":           {"QUEUE_TTL_HOURS", "0.1", "LATER_MAX_SECONDS", "400"},
		"ACCEPT_TARGET_MS (200ms) must not be more than ACCEPT_TIMEOUT_SECONDS": {"ACCEPT_TIMEOUT_SECONDS", "0.1"},
		"SCHEDULER batch: a batch of EVENTHUB_BATCH_EVENTS (200) with SCHEDULER_IN_FLIGHT (50) may take 5m0s, which must be 30s less than FUNCTION_TIMEOUT_SECONDS (5m20s)": {
			"SCHEDULER", "batch", "SCHEDULER_IN_FLIGHT", "50", "FUNCTION_TIMEOUT_SECONDS", "320", "RELAY_QUIET_SECONDS", "300"},
		"SCHEDULER stream: STREAM_PATIENCE_SECONDS (44s) and the longest call (2s) must not be more than INVOCATION_TIMEOUT_SECONDS (45s)": {
			"SCHEDULER", "stream", "STREAM_PATIENCE_SECONDS", "44"},
		"SCHEDULER stream: RELAY_QUIET_SECONDS (30s) must not be less than the longest batch (33s)":  {"SCHEDULER", "stream", "RELAY_QUIET_SECONDS", "30"},
		"ACCEPT_TIMEOUT_SECONDS (1m20s) must be less than FUNCTION_TIMEOUT_SECONDS":                  {"ACCEPT_TIMEOUT_SECONDS", "80", "FUNCTION_TIMEOUT_SECONDS", "70"},
		"DOCUMENT_TTL_DAYS (504h0m0s) must be more than HUB_RETENTION_HOURS":                         {"DOCUMENT_TTL_DAYS", "21"},
		"WRITER_BATCH_EVENTS (500) must not be more than WRITER_BUFFER_EVENTS (499)":                 {"WRITER_BUFFER_EVENTS", "499"},
		"FLEET_ZONES (10) must not be more than FLEET_DRONES (9)":                                    {"FLEET_DRONES", "9"},
		"EVENTHUB_CONSUMER_GROUP must not be $Default":                                               {"EVENTHUB_CONSUMER_GROUP", "$Default"},
		"TRANSACTIONS_QUEUE and COMPENSATIONS_QUEUE must be two queues":                              {"COMPENSATIONS_QUEUE", "transactions"},
		"NOTIFICATIONS_QUEUE must be a queue of its own":                                             {"NOTIFICATIONS_QUEUE", "transactions"},
		"NOTIFY_URL needs NOTIFY_SIGNING_KEY":                                                        {"NOTIFY_URL", "https://example.com"},
		"SMTP_URL needs MAIL_FROM":                                                                   {"SMTP_URL", "smtp://mail.example.com:587"},
		"SMTP_USER needs SMTP_PASSWORD":                                                              {"SMTP_USER", "postmaster"},
		"SMTP_URL needs SMTP_TIMEOUT_SECONDS (10s) to be less than INVOCATION_TIMEOUT_SECONDS (10s)": {"SMTP_URL", "smtp://localhost:25", "MAIL_FROM", "a@example.com", "STEP_TIMEOUT_SECONDS", "9", "INVOCATION_TIMEOUT_SECONDS", "10"},
		"NOTIFY_SIGNING_KEY must be whsk_":                                                           {"NOTIFY_SIGNING_KEY", "verysecret"},
		"NOTIFY_SIGNING_KEY_PREVIOUS must be whsk_":                                                  {"NOTIFY_SIGNING_KEY_PREVIOUS", "verysecret"},
		"AUTH_MODE entra needs AUTH_ISSUER":                                                          {"AUTH_MODE", "entra", "AUTH_AUDIENCE", "a"},
		"AUTH_MODE entra needs AUTH_AUDIENCE":                                                        {"AUTH_MODE", "entra", "AUTH_ISSUER", "https://login.example.com"},
		"ID_KEYS must be keys separated by commas":                                                   {"ID_KEYS", "1.verysecret"},
		"AUTH_MODE other than off needs ID_KEYS":                                                     {"AUTH_MODE", "keys"},
		"LATER_MAX_SECONDS (5m0s) must be less than NOTIFY_HOURS":                                    {"NOTIFY_HOURS", "0.05"},
		"NOTIFY_HOURS (720h0m0s) must be less than DOCUMENT_TTL_DAYS":                                {"NOTIFY_HOURS", "720"},
	}
	ok, err := settings.Load(chosen.Business(), env())
	if err != nil {
		t.Fatal(err)
	}
	broken := map[int]bool{}
	for want, changes := range breaks {
		_, err := settings.Load(chosen.Business(), env(changes...))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", changes, err, want)
		}
		for i, rule := range ok.Rules(chosen.Business()) {
			if strings.Contains(want, rule.Names[0]) && strings.Contains(want, rule.Names[len(rule.Names)-1]) || strings.HasPrefix(want, rule.Names[0]) {
				broken[i] = true
			}
		}
	}
	if len(breaks) != len(ok.Rules(chosen.Business())) || len(broken) != len(ok.Rules(chosen.Business())) {
		t.Errorf("%d of %d rules are tested", len(broken), len(ok.Rules(chosen.Business())))
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	s, err := settings.Load(chosen.Business(), env("BACKEND_KEY", "verysecret"))
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("start", "settings", s, "hub", s.EventHubs, "key", s.Backends.Key)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("start", "settings", s, "hub", s.EventHubs, "key", s.Backends.Key)
	encoded, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{log.String(), string(encoded), fmt.Sprint(s), fmt.Sprintf("%+v %#v %s %v", s, s, s.CosmosDB, &s)} {
		if strings.Contains(text, "verysecret") {
			t.Errorf("a secret is printed: %s", text)
		}
		if !strings.Contains(text, "hidden") {
			t.Errorf("nothing says that something is hidden: %s", text)
		}
	}
	if s.EventHubs.ConnectionString.Reveal() != hub {
		t.Error("the secret itself is lost")
	}
}

// TestHostJSON holds the defaults that repeat host.json's to it.
func TestHostJSON(t *testing.T) {
	data, err := os.ReadFile("../../host.json")
	if err != nil {
		t.Fatal(err)
	}
	var host struct {
		FunctionTimeout string
		CustomHandler   struct{ InitializationTimeout string }
		Extensions      struct {
			ServiceBus struct{ MaxAutoLockRenewalDuration string }
			EventHubs  struct{ MaxEventBatchSize int }
		}
	}
	if err := json.Unmarshal(data, &host); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(chosen.Business(), env())
	if err != nil {
		t.Fatal(err)
	}
	span := func(d time.Duration) string {
		return time.Time{}.Add(d).Format("15:04:05")
	}
	got := map[string]string{
		"functionTimeout":            host.FunctionTimeout,
		"initializationTimeout":      host.CustomHandler.InitializationTimeout,
		"maxAutoLockRenewalDuration": host.Extensions.ServiceBus.MaxAutoLockRenewalDuration,
		"maxEventBatchSize":          strconv.Itoa(host.Extensions.EventHubs.MaxEventBatchSize),
	}
	want := map[string]string{
		"functionTimeout":            span(s.Budgets.FunctionTimeout),
		"initializationTimeout":      "00:00:30",
		"maxAutoLockRenewalDuration": span(s.Budgets.LockRenewal),
		"maxEventBatchSize":          strconv.Itoa(s.Scheduler.BatchEvents),
	}
	if !maps.Equal(got, want) {
		t.Errorf("(-want +got):\n%s", cmp.Diff(want, got))
	}
}

// TestTimeOfAStepsCall expects that the start names the step whose call outlasts an
// open breaker.
func TestTimeOfAStepsCall(t *testing.T) {
	for timeout, ok := range map[time.Duration]bool{0: true, 10 * time.Second: true, 11 * time.Second: false} {
		b := chosen.Business()
		b.Workflow.Steps = slices.Clone(b.Workflow.Steps)
		last := &b.Workflow.Steps[len(b.Workflow.Steps)-1]
		last.CallTimeout = timeout
		_, err := settings.Load(b, env())
		if want := "call time-out of step " + last.Name + " (11s)"; ok && err != nil || !ok && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v", timeout, err)
		}
	}
}
