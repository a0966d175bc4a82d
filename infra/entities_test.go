package infra_test

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

var entityChecks = []check{{"event hubs", eventHubs}, {"queues", queues}, {"existing resources", existing}, {"names", names}}

// expected are the settings that the workflow's handler has in the scenario.
func (w *world) expected() settings.Settings {
	s, _, err := handlerSettings(w.app("workflow").settings)
	if err != nil {
		return settings.Settings{} // settingsLoad says what is wrong
	}
	return s
}

// short names of the entities of a type.
func (w *world) entities(kind string) []string {
	var out []string
	for _, r := range w.deployed.Of(kind) {
		out = append(out, r.Name[strings.Index(r.Name, "/")+1:])
	}
	slices.Sort(out)
	return out
}

// eventHubs: the hub, its retention and consumer groups are those of the code.
func eventHubs(w *world) []string {
	var out []string
	s := w.expected()
	if got := w.entities(hubKind); !slices.Equal(got, []string{s.EventHub}) {
		out = append(out, fmt.Sprintf("the hubs are %v, not %s", got, s.EventHub))
	}
	if got := w.entities(hubKind + "/consumergroups"); !slices.Equal(got, []string{s.EventHub + "/" + s.ConsumerGroup, s.EventHub + "/tail"}) {
		out = append(out, fmt.Sprintf("the consumer groups of %s are %v, not %s and tail", s.EventHub, got, s.ConsumerGroup))
	}
	for _, hub := range w.deployed.Of(hubKind) {
		hours, _ := hub.At("properties.retentionDescription.retentionTimeInHours").(int64)
		if time.Duration(hours)*time.Hour != s.Budgets.HubRetention || hub.Text("properties.retentionDescription.cleanupPolicy") != "Delete" {
			out = append(out, fmt.Sprintf("%s keeps events for %d h, and HUB_RETENTION_HOURS is %v", hub.Name, hours, s.Budgets.HubRetention))
		}
		namespace := w.deployed.Find(hub.Parent)
		premium := namespace != nil && namespace.Text("sku.name") == "Premium"
		partitions, _ := hub.At("properties.partitionCount").(int64)
		if most := map[bool]int64{false: 32, true: 100}[premium]; partitions < 1 || partitions > most { // Microsoft Learn, "Event Hubs quotas and limits"
			out = append(out, fmt.Sprintf("%s has %d partitions; its tier allows 1 to %d", hub.Name, partitions, most))
		}
		if most := map[bool]int64{false: 168, true: 2160}[premium]; hours > most {
			out = append(out, fmt.Sprintf("%s keeps events for %d h; its tier allows %d", hub.Name, hours, most))
		}
	}
	return out
}

// queues: the queues and their properties are those of the code.
func queues(w *world) []string {
	var out []string
	s := w.expected()
	want := []string{s.TransactionsQueue, s.CompensationsQueue, s.NotificationsQueue}
	slices.Sort(want)
	if got := w.entities(queueKind); !slices.Equal(got, want) {
		out = append(out, fmt.Sprintf("the queues are %v, not %v", got, want))
	}
	for _, queue := range w.deployed.Of(queueKind) {
		for property, want := range map[string]struct {
			value any
			by    string
		}{
			"lockDuration":                        {s.Budgets.MessageLock, "MESSAGE_LOCK_SECONDS"},
			"defaultMessageTimeToLive":            {s.Budgets.QueueTTL, "QUEUE_TTL_HOURS"},
			"duplicateDetectionHistoryTimeWindow": {s.Budgets.DuplicateWindow, "DUPLICATE_WINDOW_SECONDS"},
			"maxDeliveryCount":                    {int64(s.Budgets.MaxDeliveryCount), "MAX_DELIVERY_COUNT"},
			"requiresDuplicateDetection":          {true, "the MessageID rule"},
			"deadLetteringOnMessageExpiration":    {true, "no message may be lost"},
		} {
			got := queue.At("properties." + property)
			if text, ok := got.(string); ok {
				span, err := iso8601(text)
				if err != nil {
					out = append(out, fmt.Sprintf("%s: %s: %v", queue.Name, property, err))
					continue
				}
				got = span
			}
			if got != want.value {
				out = append(out, fmt.Sprintf("%s has %s %v, and by %s it is %v", queue.Name, property, got, want.by, want.value))
			}
		}
		for _, property := range []string{"requiresSession", "enablePartitioning"} {
			if queue.At("properties."+property) == true {
				out = append(out, fmt.Sprintf("%s has %s", queue.Name, property))
			}
		}
		if forward := queue.Text("properties.forwardTo") + queue.Text("properties.forwardDeadLetteredMessagesTo"); forward != "" {
			out = append(out, fmt.Sprintf("%s forwards to %s", queue.Name, forward))
		}
	}
	return out
}

// iso8601 reads a duration of days, hours, minutes and seconds.
func iso8601(text string) (time.Duration, error) {
	units := map[byte]time.Duration{'D': 24 * time.Hour, 'H': time.Hour, 'M': time.Minute, 'S': time.Second}
	rest, ok := strings.CutPrefix(text, "P")
	var total, n time.Duration
	digits := false
	for i := 0; ok && i < len(rest); i++ {
		c := rest[i]
		switch {
		case '0' <= c && c <= '9':
			n, digits = n*10+time.Duration(c-'0'), true
		case c == 'T' && !digits:
		case units[c] != 0 && digits:
			total += n * units[c]
			n, digits = 0, false
		default:
			ok = false
		}
	}
	if !ok || digits || rest == "" {
		return 0, fmt.Errorf("%q is no duration of ISO 8601", text)
	}
	return total, nil
}

// existing: what the files take as given is in the same deployment.
func existing(w *world) []string {
	var out []string
	for _, r := range w.deployed.Existing {
		if w.deployed.Find(r.ID) == nil {
			out = append(out, fmt.Sprintf("%v: nothing deploys %s", r.Position, short(r.ID)))
		}
	}
	return out
}

// nameRules are what Azure takes as names (Microsoft Learn, "Naming rules and
// restrictions for Azure resources").
var nameRules = map[string]struct {
	from, to int
	letters  string
}{
	storageKind:                          {3, 24, "abcdefghijklmnopqrstuvwxyz0123456789"},
	"Microsoft.KeyVault/vaults":          {3, 24, "abcdefghijklmnopqrstuvwxyz0123456789-"},
	"Microsoft.EventHub/namespaces":      {6, 50, "abcdefghijklmnopqrstuvwxyz0123456789-"},
	"Microsoft.ServiceBus/namespaces":    {6, 50, "abcdefghijklmnopqrstuvwxyz0123456789-"},
	accountKind:                          {3, 44, "abcdefghijklmnopqrstuvwxyz0123456789-"},
	"Microsoft.Web/sites":                {2, 60, "abcdefghijklmnopqrstuvwxyz0123456789-"},
	"Microsoft.Insights/actionGroups":    {1, 260, ""},
	"Microsoft.Insights/metricAlerts":    {1, 260, ""},
	"Microsoft.Resources/resourceGroups": {1, 90, ""},
}

// names: Azure takes the names, and the two hosts don't take each other for one.
func names(w *world) []string {
	var out []string
	for _, r := range w.deployed.Resources {
		rule, ok := nameRules[r.Type]
		if !ok {
			continue
		}
		if len(r.Name) < rule.from || len(r.Name) > rule.to || rule.letters != "" && strings.Trim(r.Name, rule.letters) != "" {
			out = append(out, fmt.Sprintf("%v: %q is no name for a %s: %d to %d of %s", r.Position, r.Name, r.Type, rule.from, rule.to, rule.letters))
		}
	}
	// A host's id is the first 32 characters of its app's name; two with one id
	// share their locks in one storage account (Microsoft Learn, "Storage
	// considerations for Azure Functions", avoiding host ID collisions).
	ids := map[string]string{}
	for _, a := range w.sorted() {
		id := strings.ToLower(a.site.Name[:min(len(a.site.Name), 32)])
		if other := ids[id]; other != "" {
			out = append(out, fmt.Sprintf("%s and %s have the same host id %s", a.name, other, id))
		}
		ids[id] = a.name
	}
	return out
}

// texts are all strings in a value.
func texts(v any) []string {
	switch v := v.(type) {
	case []any:
		var out []string
		for _, item := range v {
			out = append(out, texts(item)...)
		}
		return out
	case map[string]any:
		var out []string
		for _, item := range v {
			out = append(out, texts(item)...)
		}
		return out
	}
	if text := bicep.Text(v); text != "" {
		return []string{text}
	}
	return nil
}
