package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fabrikam/drone-delivery/shared/customhandler"
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
				open, err := customhandler.OpenToAll(cmp.Or(getenv(rootVariable), "."), f.name)
				switch {
				case err != nil:
					errs = append(errs, fmt.Errorf("AUTH_MODE keys: cannot tell who checks the callers of %s: %w", f.name, err))
				case open:
					errs = append(errs, fmt.Errorf("AUTH_MODE keys: %s is staged for tokens and open to anyone; stage it with -auth keys", f.name))
				}
			}
		}
		return errors.Join(errs...)
	}
	return nil
}
