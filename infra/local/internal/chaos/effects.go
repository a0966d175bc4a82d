package chaos

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/effect"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/host/route"
	"github.com/fabrikam/drone-delivery/infra/local/internal/invariant"
	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
	"github.com/fabrikam/drone-delivery/shared/workflow"
)

// effects are the names of all that the handlers of a business do outside of
// themselves. app is the folder with its functions.
func effects(s *invariant.Subject, app string) ([]string, error) {
	calls, err := callEffects(s.Calls(), app)
	if err != nil {
		return nil, fmt.Errorf("list the effects of the app in %s: %w", app, err)
	}
	all := append(calls, effect.Notice, effect.Send(eventHub))
	for _, queue := range queues {
		all = append(all, effect.Send(queue))
	}
	for _, container := range s.Containers() {
		if container != cosmosdb.TransactionsContainer {
			all = append(all, effect.Write(container, ""))
		}
	}
	for _, state := range workflow.States {
		all = append(all, effect.Write(cosmosdb.TransactionsContainer, string(state)))
	}
	return all, nil
}

// callEffects names calls after the functions that they reach.
func callEffects(calls []workflow.Call, app string) ([]string, error) {
	loaded, err := config.Load(app, config.Sources{})
	if err != nil {
		return nil, err
	}
	var functions route.Table[string]
	for _, f := range loaded.Functions {
		if f.Trigger.Kind == config.HTTPKind {
			if err := functions.Add(f.Trigger.Route, f.Trigger.Methods, f.Name); err != nil {
				return nil, err
			}
		}
	}
	var all []string
	for _, c := range calls {
		function, _, ok := functions.Lookup(c.Method, c.Path)
		if !ok {
			return nil, fmt.Errorf("no function takes the call %s %s of backend %s", c.Method, c.Path, c.Backend)
		}
		if name := effect.Call(c.Method, function); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, nil
}

// pointsOf are the points of effects: each before it is done, and, if it can change
// anything, before it is answered.
func pointsOf(effects []string) []string {
	var points []string
	for _, e := range effects {
		points = append(points, e+effect.Before)
		if !strings.HasPrefix(e, effect.Call(http.MethodGet, "")) {
			points = append(points, e+effect.Answer)
		}
	}
	return points
}
