package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
)

const (
	// keyName is what the backends' host calls the key.
	keyName = "workflow"
	// webVersion is a version of the REST API of Microsoft.Web.
	webVersion = "2024-04-01"
)

// backendsKey makes the function key of the backends, if azd's environment has
// none: the deployment puts it into the vault for the workflow, and command hostkey
// gives it to the backends' host. To read a key that the host makes is no way: a
// host that was never deployed has none.
func (h *hook) backendsKey(ctx context.Context) error {
	if h.env.entra() {
		return nil
	}
	if h.env(envBackendsKey) != "" {
		return h.say("%s is set", envBackendsKey)
	}
	if err := h.setEnv(ctx, envBackendsKey, h.key()); err != nil {
		return err
	}
	return h.say("made %s. A pipeline that deploys this environment needs it as its secret %[1]s", envBackendsKey)
}

func defineHostKey(f *flag.FlagSet) func(context.Context, *hook) error {
	limit := f.Duration("timeout", 5*time.Minute, "give up after this `time`")
	return func(ctx context.Context, h *hook) error {
		if h.env.entra() {
			return h.say("AUTH_MODE is %s: no function keys", authModeEntra)
		}
		if h.env.stamp() {
			return nil // the backends are its front's
		}
		p, err := h.keyProbe()
		if err != nil {
			return err
		}
		return h.wait(ctx, []probe{p}, *limit)
	}
}

// keyProbe gives the key to the backends' host (REST operation Web Apps - Create
// Or Update Host Secret), which has to run for that.
func (h *hook) keyProbe() (probe, error) {
	values, err := h.env.need(envSubscription, envTenant, envResourceGroup, envBackendsApp, envBackendsKey)
	if err != nil {
		return probe{}, err
	}
	manager, err := h.manager(values[envTenant])
	if err != nil {
		return probe{}, err
	}
	path := fmt.Sprintf("%s/providers/Microsoft.Web/sites/%s/host/default/functionkeys/%s?api-version=%s",
		groupPath(values), url.PathEscape(values[envBackendsApp]), keyName, webVersion)
	body := map[string]any{"properties": map[string]string{"name": keyName, "value": values[envBackendsKey]}}
	return probe{"function key " + keyName + " of " + values[envBackendsApp], func(ctx context.Context) error {
		err := manager.do(ctx, http.MethodPut, path, nil, body, nil)
		if isHostStarting(err) {
			return fmt.Errorf("the host is not running yet: %v", err) // time mends it
		}
		return err
	}}, nil
}

// isHostStarting tells an answer of Resource Manager that has asked the host of
// the functions in vain: 400 with these words.
func isHostStarting(err error) bool {
	var e *statusError
	return errors.As(err, &e) && e.status == http.StatusBadRequest && strings.Contains(e.message, "host runtime")
}

// manager calls Azure Resource Manager.
func (h *hook) manager(tenant string) (*rest, error) {
	cred, err := h.credential(tenant)
	if err != nil {
		return nil, err
	}
	return newREST(h.managerURL, runtime.NewBearerTokenPolicy(cred, []string{managerURL + "/.default"}, nil), h.transport, -1), nil
}

// groupPath is the path of the resource group.
func groupPath(values map[string]string) string {
	return "/subscriptions/" + url.PathEscape(values[envSubscription]) + "/resourceGroups/" + url.PathEscape(values[envResourceGroup])
}
