package config

import (
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azeventhubs/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/cron"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/payload"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/route"
)

// Kind is a trigger's type in function.json.
type Kind string

// The triggers that the host serves.
const (
	HTTPKind       Kind = "httpTrigger"
	TimerKind      Kind = "timerTrigger"
	EventHub       Kind = "eventHubTrigger"
	ServiceBusKind Kind = "serviceBusTrigger"
)

// A Trigger is a trigger binding; the fields after Binding belong to the kinds
// their comments name.
type Trigger struct {
	Kind    Kind
	Binding string // the binding's name

	// HTTP.
	Route     route.Template
	Methods   []string // lower case; nil means every method
	AuthLevel string   // anonymous, function or admin

	// Timer.
	ScheduleText string
	Schedule     cron.Schedule
	RunOnStartup bool
	UseMonitor   bool

	// Event Hubs and Service Bus.
	Connection Connection
	DataType   payload.DataType
	Many       bool // cardinality "many"

	// Event Hubs.
	EventHubName, ConsumerGroup string

	// Service Bus: a queue, or a topic with a subscription.
	Queue, Topic, Subscription string
	SubQueue                   azservicebus.SubQueue
}

// Entity is what the trigger listens to, for messages.
func (t Trigger) Entity() string {
	suffix := ""
	switch t.SubQueue {
	case azservicebus.SubQueueDeadLetter:
		suffix = "/$deadletterqueue"
	case azservicebus.SubQueueTransfer:
		suffix = "/$transfer/$deadletterqueue"
	}
	switch {
	case t.Kind == EventHub:
		return t.EventHubName + "/" + t.ConsumerGroup
	case t.Queue != "":
		return t.Queue + suffix
	case t.Topic != "":
		return t.Topic + "/" + t.Subscription + suffix
	case t.Kind == TimerKind:
		return t.ScheduleText
	default:
		return t.Route.String()
	}
}

// A triggerSource is what a trigger is read from.
type triggerSource struct {
	*section
	settings Settings
	function string
}

var triggers = map[string]func(*Trigger, triggerSource){
	"httptrigger":       loadHTTPTrigger,
	"timertrigger":      loadTimerTrigger,
	"eventhubtrigger":   loadEventHubTrigger,
	"servicebustrigger": loadServiceBusTrigger,
}

// resolved gives a text whose %SETTING% references are replaced.
func (s triggerSource) resolved(name, fallback string) string {
	text, err := s.settings.Resolve(s.text(name, fallback))
	if err != nil {
		s.addf(name, "%v", err)
	}
	return text
}

func loadHTTPTrigger(t *Trigger, s triggerSource) {
	t.Kind = HTTPKind
	t.AuthLevel = strings.ToLower(s.text("authLevel", "function"))
	if !slices.Contains([]string{"anonymous", "function", "admin"}, t.AuthLevel) {
		s.addf("authLevel", "must be anonymous, function or admin, not %q", t.AuthLevel)
	}
	for _, m := range s.list("methods") {
		m = strings.ToLower(m)
		if !slices.Contains([]string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}, m) {
			s.addf("methods", "%q is no HTTP method", m)
		}
		t.Methods = append(t.Methods, m)
	}
	text := s.function
	if s.has("route") {
		text = s.resolved("route", "")
	}
	tmpl, err := route.Parse(text)
	if err != nil {
		s.addf("route", "%v", err)
	}
	t.Route = tmpl
	s.loadDataType(t)
}

func loadTimerTrigger(t *Trigger, s triggerSource) {
	t.Kind = TimerKind
	t.RunOnStartup = s.boolean("runOnStartup", false)
	t.UseMonitor = s.boolean("useMonitor", true)
	if !s.has("schedule") {
		s.addf("schedule", "is required: an NCRONTAB expression such as \"*/30 * * * * *\" or a time span")
		return
	}
	t.ScheduleText = s.resolved("schedule", "")
	if t.ScheduleText == "" {
		return
	}
	schedule, err := cron.Parse(t.ScheduleText)
	if err != nil {
		s.addf("schedule", "%v", err)
	}
	t.Schedule = schedule
}

func loadEventHubTrigger(t *Trigger, s triggerSource) {
	t.Kind = EventHub
	t.EventHubName = s.resolved("eventHubName", "")
	t.ConsumerGroup = s.resolved("consumerGroup", azeventhubs.DefaultConsumerGroup)
	s.loadDataType(t)
	s.loadCardinality(t)
	if !s.has("connection") {
		s.addf("connection", "is required: the name of an app setting")
		return
	}
	conn, err := s.settings.connection(s.resolved("connection", ""), "AzureWebJobs", "")
	if err != nil {
		s.addf("connection", "%v", err)
		return
	}
	t.Connection = conn
	if conn.String != "" {
		props, err := azeventhubs.ParseConnectionString(conn.String)
		if err != nil {
			s.addf("connection", "the value of the app setting %s is no Event Hubs connection string", conn.Name)
			return
		}
		t.Connection.FullyQualifiedNamespace = props.FullyQualifiedNamespace
		if props.EntityPath != nil {
			t.EventHubName = *props.EntityPath
		}
	}
	if t.EventHubName == "" && s.text("eventHubName", "") == "" {
		s.addf("eventHubName", "is required")
	}
}

func loadServiceBusTrigger(t *Trigger, s triggerSource) {
	t.Kind = ServiceBusKind
	queue, topic, subscription := s.resolved("queueName", ""), s.resolved("topicName", ""), s.resolved("subscriptionName", "")
	switch {
	case s.has("queueName") && !s.has("topicName"):
		t.Queue, t.SubQueue = splitSubQueue(queue)
	case !s.has("queueName") && s.has("topicName") && s.has("subscriptionName"):
		t.Topic = topic
		t.Subscription, t.SubQueue = splitSubQueue(subscription)
	default:
		s.addf("queueName", "give either queueName, or topicName and subscriptionName")
	}
	if s.boolean("isSessionsEnabled", false) {
		s.addf("isSessionsEnabled", "session-enabled triggers are not emulated by this host")
	}
	if !s.boolean("autoComplete", s.boolean("autoCompleteMessages", true)) {
		s.addf("autoComplete", "must stay true: a custom handler can't settle messages")
	}
	s.has("accessRights")
	s.loadDataType(t)
	s.loadCardinality(t)
	conn, err := s.settings.connection(s.resolved("connection", "AzureWebJobsServiceBus"), "", "AzureWebJobs")
	if err != nil {
		s.addf("connection", "%v", err)
		return
	}
	t.Connection = conn
	if conn.String != "" {
		if _, err := azservicebus.NewClientFromConnectionString(conn.String, nil); err != nil {
			s.addf("connection", "the value of the app setting %s is no Service Bus connection string", conn.Name)
		}
	}
}

// splitSubQueue takes a sub-queue's name off an entity name.
func splitSubQueue(name string) (string, azservicebus.SubQueue) {
	lower := strings.ToLower(name)
	for suffix, sub := range map[string]azservicebus.SubQueue{
		"/$transfer/$deadletterqueue": azservicebus.SubQueueTransfer,
		"/$deadletterqueue":           azservicebus.SubQueueDeadLetter,
	} {
		if base, ok := strings.CutSuffix(lower, suffix); ok && !strings.HasSuffix(base, "/$transfer") {
			return name[:len(base)], sub
		}
	}
	return name, 0
}

func (s triggerSource) loadDataType(t *Trigger) {
	switch kind := strings.ToLower(s.text("dataType", "string")); kind {
	case "string":
		t.DataType = payload.String
	case "binary":
		t.DataType = payload.Binary
	default:
		s.addf("dataType", "must be string or binary, not %q", kind)
	}
}

func (s triggerSource) loadCardinality(t *Trigger) {
	switch c := strings.ToLower(s.text("cardinality", "one")); c {
	case "one", "many":
		t.Many = c == "many"
	default:
		s.addf("cardinality", "must be one or many, not %q", c)
	}
}
