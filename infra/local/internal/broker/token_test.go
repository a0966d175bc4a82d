package broker

import (
	"strings"
	"testing"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/amqp"
	"github.com/fabrikam/drone-delivery/infra/local/internal/store"
)

func TestPutToken(t *testing.T) {
	b := open(t, testConfig(), store.NewMemory())
	later := time.Now().Add(time.Hour)
	good := func(audience string) string { return sas(audience, testKey, later) }
	for _, c := range []struct {
		audience, value, condition string
	}{
		{"amqp://localhost/Orders", good("amqp://localhost/Orders"), ""},
		{"amqp://localhost:5672/orders/$management", good("amqp://localhost:5672/orders/$management"), ""},
		{"amqp://localhost/orders/$DeadLetterQueue", good("amqp://localhost/orders"), ""},
		{"amqp://localhost/orders", good("sb://localhost/"), ""},
		{"amqps://LOCALHOST/hub/ConsumerGroups/relay/Partitions/0", good("amqps://localhost/Hub"), ""},
		{"amqp://localhost/hub/$management", good("amqp://localhost/hub/$management"), ""},
		{"amqp://localhost/hub/Partitions/1", good("amqp://localhost/hub/Partitions/1"), ""},
		{"amqp://localhost/nothing", good("amqp://localhost/nothing"), amqp.CondNotFound},
		{"amqp://localhost/orders/sub", good("amqp://localhost/orders/sub"), amqp.CondNotFound},
		{"amqp://localhost/topic/Subscriptions/s", good("amqp://localhost"), amqp.CondNotFound},
		{"amqp://localhost/hub/ConsumerGroups/other/Partitions/0", good("amqp://localhost/hub"), amqp.CondNotFound},
		{"amqp://localhost/", good("amqp://localhost/"), amqp.CondNotFound},
		{"amqp://localhost/nothing", sas("amqp://localhost/nothing", "wrong", later), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", sas("amqp://localhost/orders", "wrong", later), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", good("amqp://localhost/order"), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", good("amqp://elsewhere/orders"), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", sas("amqp://localhost/orders", testKey, time.Now().Add(-time.Second)), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", strings.Replace(good("amqp://localhost/orders"), testKeyName, "other", 1), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", strings.Replace(good("amqp://localhost/orders"), "&se=", "&se=9", 1), amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", "SharedAccessSignature ", amqp.CondUnauthorizedAccess},
		{"amqp://localhost/orders", "what", amqp.CondUnauthorizedAccess},
	} {
		err := b.PutToken(t.Context(), amqp.Token{Conn: conn, Audience: c.audience, Type: tokenTypeSAS, Value: c.value})
		if c.condition != "" {
			wantCondition(t, c.audience+" by "+c.value, err, c.condition)
		} else if err != nil {
			t.Errorf("%s by %s: %v", c.audience, c.value, err)
		}
	}
	wantCondition(t, "a JWT", b.PutToken(t.Context(), amqp.Token{
		Conn: conn, Audience: "amqp://localhost/orders", Type: "jwt", Value: "x",
	}), amqp.CondUnauthorizedAccess)
}

// TestLinksNeedATokenThatHolds: for the entity, on the connection, now.
func TestLinksNeedATokenThatHolds(t *testing.T) {
	now := time.Now()
	cfg := testConfig()
	cfg.Now = func() time.Time { return now }
	b := open(t, cfg, store.NewMemory())
	for _, c := range []struct {
		name string
		conn amqp.ConnInfo
		at   time.Time
		want string
	}{
		{"holds", conn, now, ""},
		{"another connection", amqp.ConnInfo{ID: "2"}, now, amqp.CondUnauthorizedAccess},
		{"ran out", conn, now.Add(2 * time.Hour), amqp.CondUnauthorizedAccess},
	} {
		b.now = func() time.Time { return c.at }
		_, _, sink := b.OpenSink(t.Context(), amqp.Attach{Conn: c.conn, Address: "orders"})
		_, _, source := b.OpenSource(t.Context(), amqp.Attach{Conn: c.conn, Address: "orders"}, newPeer(t))
		_, peek := b.Request(t.Context(), amqp.Request{
			Conn: c.conn, Address: "orders/$management", Properties: map[string]any{"operation": "com.microsoft:peek-message"},
			Body: map[string]any{"from-sequence-number": int64(0), "message-count": int32(1)},
		})
		_, read := b.Request(t.Context(), amqp.Request{Conn: c.conn, Address: "$management", Properties: map[string]any{
			"operation": "READ", "name": "HUB", "type": "com.microsoft:eventhub",
		}})
		for what, err := range map[string]error{"sink": sink, "source": source, "peek": peek, "read": read} {
			if c.want != "" {
				wantCondition(t, c.name+" "+what, err, c.want)
			} else if err != nil {
				t.Errorf("%s %s: %v", c.name, what, err)
			}
		}
	}
}

func TestGrantsAreForgotten(t *testing.T) {
	g := grants{until: map[grant]time.Time{}}
	now := time.Now()
	for i := range 100 {
		at := now.Add(time.Duration(i) * time.Minute)
		g.add(time.Duration(i).String(), "orders", at.Add(5*time.Minute), at)
	}
	if n := len(g.until); n > 10 {
		t.Errorf("%d grants are kept", n)
	}
}
