package config

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
)

const (
	hubString = "Endpoint=sb://127.0.0.1:5672;SharedAccessKeyName=k;SharedAccessKey=aw==;UseDevelopmentEmulator=true"
	goodHost  = `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"}},
		"extensionBundle":{"id":"Microsoft.Azure.Functions.ExtensionBundle","version":"[4.*, 5.0.0)"}}`
	goodLocal = `{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"Custom","Hubs":"` + hubString + `"}}`
)

// app writes a function app and gives its root. A file's content "" removes
// it.
func app(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	all := map[string]string{"host.json": goodHost, "local.settings.json": goodLocal, "handler": "#!/bin/sh\n"}
	for name, content := range files {
		all[name] = content
	}
	for name, content := range all {
		if content == "" {
			continue
		}
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func load(t *testing.T, files, own map[string]string, environ ...string) (App, error) {
	t.Helper()
	return Load(app(t, files), Sources{Own: own, Environ: environ})
}

func mustLoad(t *testing.T, files, own map[string]string, environ ...string) App {
	t.Helper()
	a, err := load(t, files, own, environ...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestDefaults(t *testing.T) {
	a := mustLoad(t, nil, nil)
	h := a.Host
	if h.Handler.Path != filepath.Join(a.Root, "handler") || h.Handler.Dir != a.Root || h.Handler.InitializationTimeout != 30*time.Second {
		t.Errorf("handler: %+v", h.Handler)
	}
	if h.FunctionTimeout != 30*time.Minute || h.HTTP.RoutePrefix != "api" || h.HTTP.MaxConcurrent != -1 || h.HTTP.MaxOutstanding != -1 {
		t.Errorf("timeout %s, http %+v", h.FunctionTimeout, h.HTTP)
	}
	if e := h.EventHubs; e.MaxBatch != 100 || e.MinBatch != 1 || e.Prefetch != 300 || e.CheckpointFrequency != 1 || e.MaxWait != time.Minute || e.Start != "fromStart" {
		t.Errorf("event hubs: %+v", e)
	}
	if b := h.ServiceBus; b.MaxConcurrentCalls < 16 || b.MaxLockRenewal != 5*time.Minute || b.MaxBatch != 1000 || b.ClientRetry.Delay != 800*time.Millisecond {
		t.Errorf("service bus: %+v", b)
	}
}

func TestHostFileAndOverrides(t *testing.T) {
	a := mustLoad(t, map[string]string{"host.json": `{"version":"2.0","functionTimeout":"00:05:00",
		"functions":["A"],
		"customHandler":{"description":{"defaultExecutablePath":"%NAME%","arguments":["--x","%NAME% %NONE%"],"workingDirectory":"w"},
			"enableProxyingHttpRequest":true,"initializationTimeout":"00:00:03"},
		"extensions":{"http":{"routePrefix":"/v1/","maxOutstandingRequests":20,"typo":1},"serviceBus":{"maxConcurrentCalls":"7","maxAutoLockRenewalDuration":"-00:00:00.0010000"}},
		"extensionBundle":{"id":"x","version":"y"}, "surprise":{}}`,
		"A/function.json": `{"bindings":[{"type":"httpTrigger","name":"req"},{"type":"http","direction":"out","name":"res"}]}`,
		"B/function.json": `{"bindings":[{"type":"httpTrigger","name":"req"}]}`},
		map[string]string{"NAME": "handler", "AzureFunctionsJobHost__extensions__http__maxConcurrentRequests": "9",
			"AzureFunctionsJobHost__Functions__1": "B", "azurefunctionsjobhost__functionTimeout": "-1"})
	h := a.Host
	if h.HTTP != (HTTP{RoutePrefix: "v1", MaxOutstanding: 20, MaxConcurrent: 9}) {
		t.Errorf("http: %+v", h.HTTP)
	}
	if h.FunctionTimeout != 0 || h.ServiceBus.MaxConcurrentCalls != 7 || h.ServiceBus.MaxLockRenewal >= 0 {
		t.Errorf("timeout %s, service bus %+v", h.FunctionTimeout, h.ServiceBus)
	}
	if !h.Handler.Proxy || h.Handler.Path != filepath.Join(a.Root, "handler") || h.Handler.Dir != filepath.Join(a.Root, "w") {
		t.Errorf("handler: %+v", h.Handler)
	}
	if !slices.Equal(h.Handler.Args, []string{"--x", "handler"}) {
		t.Errorf("arguments: %q", h.Handler.Args)
	}
	if len(a.Functions) != 2 {
		t.Errorf("functions: %+v", a.Functions)
	}
	text := strings.Join(a.Warnings, "\n")
	if !strings.Contains(text, "host.json.surprise") || !strings.Contains(text, "extensions.http.typo") {
		t.Errorf("warnings: %s", text)
	}
}

func TestMissingExecutableIsLookedUpOnPath(t *testing.T) {
	a := mustLoad(t, map[string]string{"handler": ""}, nil)
	if a.Host.Handler.Path != "handler" {
		t.Errorf("path: %q", a.Host.Handler.Path)
	}
}

func TestSettingsPrecedence(t *testing.T) {
	a := mustLoad(t, map[string]string{"local.settings.json": `{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom","A":"file","B":"file","C":"file","N":7,"Z":null}}`},
		map[string]string{"a": "own"}, "A=real", "B=real", "=C:=C:\\")
	for name, want := range map[string]string{"A": "own", "B": "real", "C": "file", "N": "7"} {
		if got, _ := a.Settings.Lookup(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if _, set := a.Settings.Lookup("Z"); set {
		t.Error("a null value is set")
	}
	env := a.Settings.Environ()
	if !slices.Contains(env, "a=own") || slices.Contains(env, "A=real") {
		t.Errorf("environment: %q", env)
	}
}

func TestTriggers(t *testing.T) {
	a := mustLoad(t, map[string]string{
		"Ingest/function.json": `{"bindings":[{"type":"httpTrigger","direction":"in","name":"req","authLevel":"Anonymous","methods":["POST","put"],"route":"orders/{id}"},{"type":"http","direction":"out","name":"$return"}]}`,
		"Relay/function.json":  `{"retry":{"strategy":"fixedDelay","maxRetryCount":-1,"delayInterval":"00:00:01"},"bindings":[{"type":"eventHubTrigger","direction":"in","name":"events","eventHubName":"%HUB%","connection":"Hubs","consumerGroup":"relay","cardinality":"many","dataType":"binary"}]}`,
		"Dead/function.json":   `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","queueName":"q/$DeadLetterQueue","connection":"Bus"}]}`,
		"Sub/function.json":    `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"m","topicName":"t","subscriptionName":"s/$transfer/$deadletterqueue","connection":"Bus"}]}`,
		"Sweep/function.json":  `{"bindings":[{"type":"timerTrigger","direction":"in","name":"timer","schedule":"%EVERY%","useMonitor":false}]}`,
		"Off/function.json":    `{"bindings":[{"type":"unknownTrigger","direction":"in","name":"x"}]}`,
		"notes/readme.txt":     "no function",
		"a/b/function.json":    `{"bindings":[]}`,
	}, map[string]string{"HUB": "requests", "EVERY": "*/30 * * * * *", "AzureWebJobsHubs": hubString + ";EntityPath=other",
		"Bus__fullyQualifiedNamespace": "ns.servicebus.windows.net", "Bus__credential": "managedidentity", "Bus__clientId": "c", "AzureWebJobs.Off.Disabled": "true"})
	got := map[string]Function{}
	for _, f := range a.Functions {
		got[f.Name] = f
	}
	if len(got) != 5 || !slices.Equal(a.Disabled, []string{"Off"}) {
		t.Fatalf("functions: %+v, disabled %v", got, a.Disabled)
	}
	if f := got["Ingest"]; f.Trigger.AuthLevel != "anonymous" || !slices.Equal(f.Trigger.Methods, []string{"post", "put"}) || f.Trigger.Route.String() != "orders/{id}" || f.HTTPOutput != "$return" {
		t.Errorf("Ingest: %+v", f)
	}
	relay := got["Relay"]
	if tr := relay.Trigger; tr.EventHubName != "other" || tr.ConsumerGroup != "relay" || !tr.Many || tr.DataType != payload.Binary ||
		tr.Connection.Name != "AzureWebJobsHubs" || tr.Connection.FullyQualifiedNamespace != "127.0.0.1:5672" {
		t.Errorf("Relay: %+v", tr)
	}
	if r := relay.Retry; r == nil || r.MaxCount != -1 || r.Wait(3) != time.Second {
		t.Errorf("Relay's retry: %+v", r)
	}
	if tr := got["Dead"].Trigger; tr.Queue != "q" || tr.SubQueue != azservicebus.SubQueueDeadLetter || tr.Connection.ClientID != "c" || tr.Connection.String != "" {
		t.Errorf("Dead: %+v", tr)
	}
	if tr := got["Sub"].Trigger; tr.Topic != "t" || tr.Subscription != "s" || tr.SubQueue != azservicebus.SubQueueTransfer {
		t.Errorf("Sub: %+v", tr)
	}
	if tr := got["Sweep"].Trigger; tr.Schedule == nil || tr.UseMonitor {
		t.Errorf("Sweep: %+v", tr)
	}
}

func TestConnectionOrder(t *testing.T) {
	s := loadSettings(t.TempDir(), Sources{Own: map[string]string{"X": "plain", "AzureWebJobsX": "prefixed", "Y__fullyQualifiedNamespace": "ns", "Y": "wins", "ConnectionStrings:Z": "section"}}, &Problems{})
	for _, tc := range []struct {
		name     string
		prefixes []string
		want     string
	}{
		{"X", []string{"AzureWebJobs", ""}, "prefixed"},
		{"X", []string{"", "AzureWebJobs"}, "plain"},
		{"Y", []string{""}, "wins"},
		{"Z", []string{""}, "section"},
	} {
		if got, err := s.connection(tc.name, tc.prefixes...); err != nil || got.String != tc.want {
			t.Errorf("%s %q: %+v, %v; want %q", tc.name, tc.prefixes, got, err, tc.want)
		}
	}
	const secret = "Endpoint=sb://x;SharedAccessKey=secret"
	if _, err := s.connection(secret, ""); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("a connection string as a name: %v", err)
	}
}

func TestProblemsAreReportedTogether(t *testing.T) {
	_, err := load(t, map[string]string{
		"host.json":          `{"version":"1.0","functionTimeout":"soon","customHandler":{"description":{}},"extensions":{"eventHubs":{"minEventBatchSize":200}}}`,
		"1bad/function.json": `{}`,
		"Host/function.json": `{}`,
		"A/function.json":    `{"bindings":[{"type":"cosmosDBTrigger","direction":"in","name":"x"}]}`,
		"B/function.json":    `{"scriptFile":"b.js","bindings":[{"type":"httpTrigger","name":"a_b"},{"type":"timerTrigger","name":"T","schedule":"nonsense"},{"type":"http","direction":"out","name":"t"}]}`,
		"C/function.json":    `{"bindings":[{"type":"serviceBusTrigger","name":"m","connection":"Missing","isSessionsEnabled":true,"autoComplete":false,"queueName":"q","topicName":"t"}]}`,
		"D/function.json":    `{"bindings":[{"type":"eventHubTrigger","name":"m","connection":"Hubs","eventHubName":"%NOPE%","cardinality":"some","dataType":"stream"}]}`,
		"E/function.json":    `{"retry":{"strategy":"fixedDelay"},"bindings":[{"type":"httpTrigger","name":"r","route":"/x","methods":["fetch"],"authLevel":"root"}]}`,
		"F/function.json":    `{"bindings":[]}`,
		"G/function.json":    `not json`,
	}, map[string]string{"FUNCTIONS_WORKER_RUNTIME": "node"})
	var problems Problems
	if !errors.As(err, &problems) {
		t.Fatalf("error is %v", err)
	}
	for _, want := range []string{
		`host.json.version: must be "2.0", not "1.0"`,
		"host.json.functionTimeout:",
		"host.json.customHandler.description.defaultExecutablePath: is required",
		"host.json.extensions.eventHubs.minEventBatchSize: must not be above",
		`1bad/function.json: "1bad" is no function name`,
		`Host/function.json: "Host" is no function name`,
		`A/function.json.bindings[0].type: "cosmosDBTrigger" is not served by this host; it serves httpTrigger, timerTrigger, eventHubTrigger, serviceBusTrigger`,
		`B/function.json.scriptFile: "b.js" doesn't exist`,
		`B/function.json.bindings[0].name: "a_b" is no binding name`,
		`B/function.json.bindings[2].name: "t" is used twice`,
		"B/function.json.bindings: want exactly one trigger, found 2",
		"B/function.json.bindings[1].schedule:",
		"C/function.json.bindings[0].connection: neither the app setting Missing nor Missing__fullyQualifiedNamespace is set",
		"C/function.json.bindings[0].isSessionsEnabled:",
		"C/function.json.bindings[0].autoComplete:",
		"C/function.json.bindings[0].queueName:",
		"D/function.json.bindings[0].eventHubName: %NOPE% does not resolve to a value",
		"D/function.json.bindings[0].cardinality:",
		"D/function.json.bindings[0].dataType:",
		"E/function.json.retry.maxRetryCount: is required",
		"E/function.json.retry.delayInterval: is required",
		"E/function.json.bindings[0].route:",
		"E/function.json.bindings[0].methods:",
		"E/function.json.bindings[0].authLevel:",
		"F/function.json.bindings: must be an array",
		"G/function.json: not a JSON object",
		`FUNCTIONS_WORKER_RUNTIME: is "node"`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no problem %q in\n%v", want, err)
		}
	}
}

func TestLocalSettingsProblems(t *testing.T) {
	for name, tc := range map[string]struct{ file, want string }{
		"encrypted by default": {`{"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom"}}`, "IsEncrypted is true"},
		"nested":               {`{"IsEncrypted":false,"Values":{"FUNCTIONS_WORKER_RUNTIME":"custom","a":{"b":"c"}}}`, "Values.a must be a string"},
		"broken":               {"{\n\n", "local.settings.json: not the expected JSON: line 3: unexpected end of JSON input"},
		"a list of values":     {"{\"IsEncrypted\": false,\n\"Values\": []}", "line 2: json: cannot unmarshal array"},
	} {
		if _, err := load(t, map[string]string{"local.settings.json": tc.file}, nil); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestBundleIsNeededForMessages(t *testing.T) {
	_, err := load(t, map[string]string{
		"host.json":       `{"version":"2.0","customHandler":{"description":{"defaultExecutablePath":"handler"}}}`,
		"R/function.json": `{"bindings":[{"type":"eventHubTrigger","name":"m","connection":"Hubs","eventHubName":"h"}]}`,
	}, nil)
	if err == nil || !strings.Contains(err.Error(), "extensionBundle") {
		t.Errorf("error is %v", err)
	}
}

func TestRetryOnOtherTriggersIsAWarning(t *testing.T) {
	a := mustLoad(t, map[string]string{
		"H/function.json": `{"retry":{"strategy":"fixedDelay","maxRetryCount":1,"delayInterval":"00:00:01"},"bindings":[{"type":"httpTrigger","name":"m"}]}`,
	}, nil)
	if a.Functions[0].Retry != nil || !slices.ContainsFunc(a.Warnings, func(w string) bool { return strings.Contains(w, "retry policy has no effect") }) {
		t.Errorf("retry %+v, warnings %q", a.Functions[0].Retry, a.Warnings)
	}
}

func TestExponentialBackoff(t *testing.T) {
	r := Retry{Exponential: true, Min: time.Second, Max: time.Minute}
	for attempt, bounds := range map[int][2]time.Duration{
		0:   {time.Second, time.Second},
		1:   {1800 * time.Millisecond, 2200 * time.Millisecond},
		3:   {4200 * time.Millisecond, 5800 * time.Millisecond},
		5:   {13800 * time.Millisecond, 20200 * time.Millisecond},
		200: {time.Minute, time.Minute},
	} {
		if got := r.Wait(attempt); got < bounds[0] || got > bounds[1] {
			t.Errorf("wait after attempt %d is %s, want %s to %s", attempt, got, bounds[0], bounds[1])
		}
	}
}
