package broker

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/eventlog"
	"github.com/fabrikam/drone-delivery/infra/local/internal/fault"
	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// Config is what a Broker serves.
type Config struct {
	Queues []QueueConfig
	Hubs   []HubConfig
	// KeyName and Key are the shared access key that tokens are signed with.
	KeyName, Key string
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Faults break sending, receiving and settling on purpose; see faults.go.
	// nil means never.
	Faults *fault.Injector
	// Crashes kills handlers at their sends. nil kills none.
	Crashes *effect.Watch
}

// QueueConfig describes a Service Bus queue. A zero LockDuration,
// MaxDeliveryCount or MaxMessageBytes means the service's default.
type QueueConfig struct {
	Name string
	// LockDuration is at most 5 minutes, by default 1 minute.
	LockDuration time.Duration
	// MaxDeliveryCount is 1 to 2000, by default 10.
	MaxDeliveryCount int
	// DuplicateWindow is how long message ids are remembered, at most 7 days; 0
	// is off. (The service itself asks for 20 s at least.)
	DuplicateWindow time.Duration
	// DefaultTTL is the default and the ceiling of a message's time to live; 0
	// is none.
	DefaultTTL         time.Duration
	DeadLetterOnExpiry bool
	// MaxMessageBytes bounds a message, and a batch of messages, on the wire;
	// by default 256 KiB.
	MaxMessageBytes int
}

// HubConfig describes an event hub.
type HubConfig struct {
	Name       string
	Partitions int // 1 to 32; their ids are "0", "1" ...
	// ConsumerGroups are the groups besides $Default.
	ConsumerGroups []string
	// Retention is how long events are kept, by default 1 hour, the service's
	// least, at most 90 days.
	Retention time.Duration
	// MaxPartitionBytes bounds the bodies that a partition keeps, whatever the
	// retention says; 0 is no bound. The service has no such setting: it is
	// there to bound the emulator's memory.
	MaxPartitionBytes int64
}

const (
	defaultLockDuration     = time.Minute
	defaultMaxDeliveryCount = 10
	defaultMaxMessageBytes  = 256 << 10
	defaultRetention        = time.Hour
	maxEventBytes           = 1 << 20 // of an event, and of a batch of events
	maxBytesAtMost          = 100 << 20
	defaultGroup            = "$Default"
)

func (c QueueConfig) withDefaults() QueueConfig {
	if c.LockDuration == 0 {
		c.LockDuration = defaultLockDuration
	}
	if c.MaxDeliveryCount == 0 {
		c.MaxDeliveryCount = defaultMaxDeliveryCount
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = defaultMaxMessageBytes
	}
	return c
}

func (c QueueConfig) rules() queue.Config {
	return queue.Config{
		LockDuration: c.LockDuration, MaxDeliveryCount: c.MaxDeliveryCount,
		DuplicateWindow: c.DuplicateWindow, DefaultTTL: c.DefaultTTL,
		DeadLetterOnExpiry: c.DeadLetterOnExpiry,
	}
}

func (c HubConfig) withDefaults() HubConfig {
	if c.Retention == 0 {
		c.Retention = defaultRetention
	}
	return c
}

func (c HubConfig) rules() eventlog.Config {
	return eventlog.Config{Retention: c.Retention, MaxBytes: c.MaxPartitionBytes}
}

var namePattern = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// Validate reports every problem of c, joined.
func (c Config) Validate() error {
	var errs []error
	if c.KeyName == "" || c.Key == "" {
		errs = append(errs, errors.New("the shared access key needs a name and a value"))
	}
	if strings.ContainsAny(c.KeyName+c.Key, "; ") {
		errs = append(errs, errors.New("the shared access key can't have semicolons or blanks"))
	}
	names := make(map[string]bool)
	name := func(kind, n string) {
		lower := strings.ToLower(n)
		if !namePattern.MatchString(n) || len(n) > 256 {
			errs = append(errs, fmt.Errorf("%s %q: the name must be letters, digits, '.', '_' and '-', at most 256", kind, n))
		} else if names[lower] {
			errs = append(errs, fmt.Errorf("%s %q: the name is used twice", kind, n))
		}
		names[lower] = true
	}
	for _, q := range c.Queues {
		name("queue", q.Name)
		errs = append(errs, q.problems()...)
	}
	for _, h := range c.Hubs {
		name("event hub", h.Name)
		errs = append(errs, h.problems()...)
	}
	return errors.Join(errs...)
}

func (c QueueConfig) problems() []error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("queue %q: %s", c.Name, what))
		}
	}
	check(c.LockDuration >= 0 && c.LockDuration <= 5*time.Minute, "the lock duration must be at most 5 minutes")
	check(c.MaxDeliveryCount >= 0 && c.MaxDeliveryCount <= 2000, "the max delivery count must be 1 to 2000")
	check(c.DuplicateWindow >= 0 && c.DuplicateWindow <= 7*24*time.Hour, "the duplicate window must be at most 7 days")
	check(c.DefaultTTL >= 0, "the default time to live can't be negative")
	check(c.MaxMessageBytes >= 0 && c.MaxMessageBytes <= maxBytesAtMost, "the message size must be at most 100 MiB")
	return errs
}

func (c HubConfig) problems() []error {
	var errs []error
	check := func(ok bool, what string) {
		if !ok {
			errs = append(errs, fmt.Errorf("event hub %q: %s", c.Name, what))
		}
	}
	check(c.Partitions >= 1 && c.Partitions <= 32, "there must be 1 to 32 partitions")
	check(c.Retention >= 0 && c.Retention <= 90*24*time.Hour, "the retention must be at most 90 days")
	check(c.MaxPartitionBytes >= 0, "the size of a partition can't be negative")
	groups := map[string]bool{strings.ToLower(defaultGroup): true}
	for _, g := range c.ConsumerGroups {
		lower := strings.ToLower(g)
		check(namePattern.MatchString(g) && len(g) <= 50, fmt.Sprintf("%q can't be the name of a consumer group", g))
		check(!groups[lower], fmt.Sprintf("consumer group %q is there twice", g))
		groups[lower] = true
	}
	return errs
}
