package proof

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/orders"
	"github.com/fabrikam/drone-delivery/shared/trial"
)

// foreign finds the words of the other business.
var foreign = regexp.MustCompile(`(?i)[a-z_.-]*(?:drone|parcel|owner[_.-]?id|deliver|package)[a-z_.-]*`)

// azures are the words that look alike and are Azure's own, in lower case and
// without what joins their parts.
var azures = map[string]string{
	"deliverycount":    "Service Bus counts how many times a message was received: the trigger's metadata, our log field delivery.count",
	"maxdeliverycount": "a property of Service Bus's queues, our setting MAX_DELIVERY_COUNT",

	"messagingservicebusmessagedeliverycount": "OpenTelemetry's name for the first in a span",
}

// wordsIn returns the words of the other business in a text, each once.
func wordsIn(text string) []string {
	found := map[string]bool{}
	for _, word := range foreign.FindAllString(text, -1) {
		if azures[strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.ToLower(word))] == "" {
			found[word] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func TestWordsIn(t *testing.T) {
	for text, want := range map[string]int{
		`{"ownerId":"a","owner_id":"b"}`: 2, "drone_delivery_wakes_total 1": 1, "com.fabrikam.dronedelivery.x": 1, "GET /api/packages/{id}": 1,
		"Deliver 2 Parcels": 2, "an undelivered notice": 1, "the delivery count": 1,
		`{"delivery.count":2,"DeliveryCount":3}`: 0, "MAX_DELIVERY_COUNT is maxDeliveryCount": 0, "an order of yours": 0,
	} {
		if got := wordsIn(text); len(got) != want {
			t.Errorf("%q says %q, want %d words", text, got, want)
		}
	}
}

// outputs are the places where the system says something, each with a text of
// orders by which the test knows that it has read it: one that the run writes there
// at its end or not at all.
func outputs() map[string]string {
	all := map[string]string{
		"settings":  "BACKEND_PAYMENT_URL",
		"functions": `"route": "orders/{id?}"`,
		"metrics":   `online_orders_transaction_duration_seconds_count{state="Completed"}`,
		"log":       `"msg":"notice taken"`,
		"spans":     `"name":"undo payment"`,
		"events":    `"type":"com.fabrikam.onlineorders.transaction.compensated.v1"`,
		"tool":      "payments serves http://",
		"answers":   `"pointer":"/quantity"`,
	}
	for _, spec := range cosmosdb.Containers(orders.Business()) {
		all["container "+spec.Name] = `"id":`
	}
	return all
}

// TestNoWordOfAnotherBusiness takes orders of every kind to their end, with calls to
// the backends that fail and a payment provider that answers too late or is killed,
// and reads all that comes out.
func TestNoWordOfAnotherBusiness(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds and runs the whole system")
	}
	read := takeOrders(t)
	for where, text := range trial.Sorted(outputs()) {
		eventually(t, where+" has no "+text, func() bool { return strings.Contains(read[where](t), text) })
	}
	for where, text := range trial.Sorted(read) {
		for _, word := range wordsIn(where + "\n" + text(t)) {
			t.Errorf("%s says %q", where, word)
		}
	}
}
