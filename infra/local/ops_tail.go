package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"

	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/infra/local/internal/tail"
)

// opsTail says what is read of which hub.
type opsTail struct {
	config tail.Config
	since  time.Duration
}

func defineTail(flags *flag.FlagSet, c *opsCall) {
	t := &opsTail{}
	c.tail = t
	flags.StringVar(&t.config.Namespace, "namespace", "", "fully qualified `name` of the Event Hubs namespace, such as NAME.servicebus.windows.net: "+
		"uses your Azure sign-in, which needs the role Azure Event Hubs Data Receiver (default: the hub that serve runs in this folder)")
	flags.StringVar(&t.config.Hub, "hub", "requests", "`name` of the hub")
	flags.StringVar(&t.config.Group, "group", system.TailGroup, "consumer `group` to read in; $Default is always there")
	flags.DurationVar(&t.since, "since", 10*time.Minute, "how far back to begin")
	flags.BoolVar(&t.config.Follow, "follow", false, "go on with what comes, until Ctrl-C")
}

// tailHub reads the hub with the caller's own rights: who may see all requests is
// the hub's to say, and a reader that follows for hours is nothing for a function.
func tailHub(ctx context.Context, c *opsCall) error {
	t := c.tail
	if t.since < 0 {
		return &usageError{fmt.Sprintf("ops tail: -since %v: use 0s and more", t.since)}
	}
	t.config.Since = time.Now().Add(-t.since)
	if t.config.Namespace == "" {
		served, err := endpointsHere("the namespace with -namespace NAME")
		if err != nil {
			return err
		}
		t.config.ConnectionString = served.EventHubs
	} else {
		credential, err := azidentity.NewDefaultAzureCredential(nil)
		if err != nil {
			return fmt.Errorf("sign in for %s: %w", t.config.Namespace, err)
		}
		t.config.Credential = credential
	}
	lines := json.NewEncoder(c.out)
	lines.SetEscapeHTML(false) // a body is shown as it came
	return tail.Read(ctx, t.config, func(l tail.Line) error { return lines.Encode(l) })
}
