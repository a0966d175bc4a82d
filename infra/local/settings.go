package main

import (
	"flag"
	"maps"
	"slices"

	"github.com/fabrikam/drone-delivery/infra/local/internal/host/config"
	"github.com/fabrikam/drone-delivery/infra/local/internal/system"
	"github.com/fabrikam/drone-delivery/shared/settings"
)

// defineSettings defines the flag for another file with the app's settings than
// the staged one, such as one that names services in Azure by identity.
func defineSettings(flags *flag.FlagSet, file *string) {
	flags.StringVar(file, "settings", "", "local settings `file` to use instead of the staged local.settings.json")
}

// checkSettings reads such a file before anything is built or started.
func checkSettings(file string) error {
	if file == "" {
		return nil
	}
	_, err := config.ReadLocalSettings("", file)
	return err
}

// showElsewhere tells which of the emulators the app does not use.
func showElsewhere(d *display, s *system.System, file string) {
	places := s.Elsewhere()
	for _, name := range slices.Sorted(maps.Keys(places)) {
		d.note("%-25s %s, not the emulator: %s", name, places[name], relative(file))
	}
}

// noSamples says why the app can't have the sample accounts, "" if it can: another
// Cosmos DB than ours keeps what it has, and we have no token.
func noSamples(elsewhere map[string]string, auth settings.AuthMode) string {
	switch place, ok := elsewhere["CosmosDB"]; {
	case ok:
		return "the Cosmos DB at " + place + " keeps its own accounts"
	case auth == settings.AuthEntra:
		return "the app wants a token"
	case auth == settings.AuthKeys:
		return "the app wants a key"
	default:
		return ""
	}
}
