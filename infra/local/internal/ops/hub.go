package ops

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

// HubStatus is the status of an event hub (Microsoft Learn, "Configure properties of an event
// hub").
type HubStatus string

// The statuses.
const (
	HubActive       HubStatus = "Active"
	HubSendDisabled HubStatus = "SendDisabled" // it takes no events, and its readers get on
)

// hubSettles is how long the service is given to apply a status everywhere: how long that takes
// is not documented.
const hubSettles = time.Minute

// SetHub sets the status of a hub, and returns how long it may take until it holds. The hub is managed
// at its resource id in Azure, where az does it with the right of who has signed in, or
// at the admin endpoint of a local runtime.
func SetHub(ctx context.Context, at, hub string, to HubStatus) (settles time.Duration, err error) {
	if !strings.HasPrefix(at, "/subscriptions/") {
		return 0, setHubHere(ctx, at, hub, to)
	}
	if name := at[strings.LastIndex(at, "/")+1:]; !strings.EqualFold(name, hub) {
		return 0, fmt.Errorf("%s is another hub", at)
	}
	az := exec.CommandContext(ctx, "az", "eventhubs", "eventhub", "update", "--ids", at, "--status", string(to), "--output", "none")
	if said, err := az.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("az: %w: %s", err, bytes.TrimSpace(said))
	}
	return hubSettles, nil
}

func setHubHere(ctx context.Context, at, hub string, to HubStatus) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPut, at+"/hubs/"+url.PathEscape(hub), strings.NewReader(fmt.Sprintf(`{"status":%q}`, to)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	said, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err == nil && resp.StatusCode != http.StatusNoContent {
		err = fmt.Errorf("status %d: %s", resp.StatusCode, said)
	}
	return err
}
