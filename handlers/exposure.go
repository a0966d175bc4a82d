package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/settings"
)

// The variables by which the handler knows where it runs: App Service sets the
// name of the site, the host the folder of the app (Microsoft Learn, "Environment
// variables and app settings in Azure App Service"; the host's HttpWorkerProcess).
const (
	siteVariable = "WEBSITE_SITE_NAME"
	rootVariable = "FUNCTIONS_APP_ROOT_PATH"
)

// exposed returns what would let anyone in from outside. Settings and staged
// functions come to Azure in two steps, so that one may not fit the other; then
// it is better not to run.
func (a *App) exposed(getenv func(string) string) error {
	switch a.settings.Auth.Mode {
	case settings.AuthOff:
		if getenv(siteVariable) != "" {
			return errors.New("AUTH_MODE: off is for a developer's machine; allowed in Azure: entra, keys")
		}
	case settings.AuthKeys: // it is the host that checks them, if function.json says so
		var errs []error
		for _, f := range a.functions {
			if f.trigger == httpTrigger && !f.anonymous {
				errs = append(errs, wantsKey(cmp.Or(getenv(rootVariable), "."), f.name))
			}
		}
		return errors.Join(errs...)
	}
	return nil
}

// wantsKey returns an error unless the host asks callers of the function for a
// key.
func wantsKey(root, name string) error {
	data, err := os.ReadFile(filepath.Join(root, name, "function.json"))
	if err != nil {
		return fmt.Errorf("AUTH_MODE keys: cannot tell who checks the callers of %s: %w", name, err)
	}
	var file struct {
		Bindings []struct{ Type, AuthLevel string }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return fmt.Errorf("AUTH_MODE keys: function.json of %s: %w", name, err)
	}
	for _, b := range file.Bindings {
		// Without a level it is function (Microsoft Learn, "Azure Functions HTTP trigger").
		if strings.EqualFold(b.Type, httpTrigger) && strings.EqualFold(b.AuthLevel, "anonymous") {
			return fmt.Errorf("AUTH_MODE keys: %s is staged for tokens and open to anyone; stage it with -auth keys", name)
		}
	}
	return nil
}
