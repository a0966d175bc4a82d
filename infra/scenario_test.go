package infra_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encoding/json"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

// scenario is one way to deploy: what azd's environment says.
type scenario struct {
	size, auth         string
	vnet, notify, otlp bool
	developer, stamp   bool
	overrides          string // JSON, or "" for none
}

func (s scenario) String() string {
	text := s.size + "," + s.auth
	for _, flag := range []struct {
		on   bool
		name string
	}{{s.vnet, "vnet"}, {s.notify, "notify"}, {s.otlp, "otlp"}, {s.developer, "developer"}, {s.stamp, "stamp"}} {
		if flag.on {
			text += "," + flag.name
		}
	}
	return text
}

// scenarios are all of them.
func scenarios() []scenario {
	var out []scenario
	for _, size := range []string{"small", "standard", "large"} {
		for _, auth := range []string{"entra", "keys"} {
			for bits := range 16 {
				out = append(out, scenario{size, auth, bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0, false, ""})
			}
			for _, all := range []bool{false, true} { // but a network: TestStampsThatCantBe
				out = append(out, scenario{size: size, auth: auth, notify: all, otlp: all, developer: all, stamp: true})
			}
		}
	}
	return out
}

// What the scenarios say.
const (
	developerID = "00000000-0000-4000-8000-00000000000d"
	notifyURL   = "https://receiver.example.com/hook"
	signingKey  = "whsk_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
	previousKey = "whsk_ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
	mailServer  = "smtp://mail.example.com:587"
	mailSecret  = "password-of-the-mail-server"
	idKey       = "1.QEFCQ0RFRkdISUpLTE1OT1BRUlNUVVZXWFlaW1xdXl8="
	backendsKey = "key-of-the-backends"
	workflowApp = "00000000-0000-4000-8000-00000000000a"
	backendsApp = "00000000-0000-4000-8000-00000000000b"
	frontID     = "00000000-0000-4000-8000-00000000000f"
	backendsURL = "https://func-backends-first.azurewebsites.net"
)

// environment is azd's environment in this scenario (azd env set NAME VALUE).
// A name that is not set is not in it.
func (s scenario) environment() map[string]string {
	env := map[string]string{
		"AZURE_ENV_NAME": "prod", "AZURE_LOCATION": "westeurope", "SIZE": s.size, "AUTH_MODE": s.auth,
		"VNET_ENABLED": strconv.FormatBool(s.vnet), "OTLP_INGESTION": strconv.FormatBool(s.otlp),
	}
	if s.stamp {
		env["STAMP"], env["SHARD"], env["FRONT_PRINCIPAL_ID"], env["BACKENDS_URL"] = "work", "2", frontID, backendsURL
	} else {
		env["ID_KEYS"] = idKey
	}
	if s.auth == "entra" {
		env["WORKFLOW_AUTH_CLIENT_ID"], env["BACKENDS_AUTH_CLIENT_ID"] = workflowApp, backendsApp
	}
	if s.auth == "keys" {
		env["BACKENDS_KEY"] = backendsKey
	}
	if s.notify {
		env["NOTIFY_URL"], env["NOTIFY_SIGNING_KEY"], env["NOTIFY_SIGNING_KEY_PREVIOUS"] = notifyURL, signingKey, previousKey
		env["SMTP_URL"], env["SMTP_USER"], env["SMTP_PASSWORD"], env["MAIL_FROM"] = mailServer, "postmaster", mailSecret, "noreply@example.com"
	}
	if s.overrides != "" {
		env["OVERRIDES"] = s.overrides
	}
	if s.developer {
		env["AZURE_PRINCIPAL_ID"] = developerID
	}
	return env
}

// variableInFile is ${NAME} or ${NAME=default} in main.parameters.json.
var variableInFile = regexp.MustCompile(`\$\{([A-Z_a-z0-9]+)(?:=([^}]*))?\}`)

// parameters reads main.parameters.json as azd does: environment variables are
// put in, and texts become what the parameter's type wants (Microsoft Learn,
// "Work with Azure Developer CLI environment variables"). An object that is null
// then is left to its default (Azure/azure-dev, bicep_provider.go,
// loadParameters, ensureParameters).
func parameters(mainFile, parametersFile string, env map[string]string) (map[string]any, error) {
	data, err := os.ReadFile(parametersFile)
	if err != nil {
		return nil, err
	}
	var file struct {
		Parameters map[string]struct{ Value any }
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", parametersFile, err)
	}
	types, err := paramTypes(mainFile)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for name, p := range file.Parameters {
		text, ok := p.Value.(string)
		if !ok {
			out[name] = p.Value
			continue
		}
		text = variableInFile.ReplaceAllStringFunc(text, func(m string) string {
			parts := variableInFile.FindStringSubmatch(m)
			if v := env[parts[1]]; v != "" {
				return v
			}
			return parts[2]
		})
		if types[name] == "object" && text == "null" {
			continue
		}
		if out[name], err = ofType(text, types[name]); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", parametersFile, name, err)
		}
	}
	return out, nil
}

func paramTypes(mainFile string) (map[string]string, error) {
	text, err := os.ReadFile(mainFile)
	if err != nil {
		return nil, err
	}
	declarations, err := bicep.Declarations(mainFile, string(text))
	if err != nil {
		return nil, err
	}
	types := map[string]string{}
	for _, d := range declarations {
		if d.Kind == bicep.Param {
			types[d.Name] = d.Type
		}
	}
	return types, nil
}

func ofType(text, of string) (any, error) {
	switch of {
	case "bool":
		return strconv.ParseBool(text)
	case "int":
		return strconv.Atoi(text)
	case "object":
		var v map[string]any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		err := decoder.Decode(&v)
		return whole(v), err
	}
	return text, nil
}

// whole makes the numbers of a JSON value ints, the only ones that Bicep has.
func whole(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = whole(v[name])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
	}
	return v
}

// TestOverrides takes the road of "azd env set OVERRIDES": what it says wins over
// the size, and without it the size is as it is.
func TestOverrides(t *testing.T) {
	for text, want := range map[string]int64{"": 40, `{"workflow": {"maximumInstanceCount": 77}, "updateStrategy": "RollingUpdate"}`: 77} {
		s := scenario{size: "small", auth: "keys", overrides: text}
		w, err := load("..", s)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := w.app("workflow").site.At("properties.functionAppConfig.scaleAndConcurrency.maximumInstanceCount"); got != want {
			t.Errorf("OVERRIDES=%q: %v instances, want %d", text, got, want)
		}
		if got := w.app("workflow").site.At("properties.functionAppConfig.scaleAndConcurrency.instanceMemoryMB"); got != int64(2048) {
			t.Errorf("OVERRIDES=%q: %v MB", text, got)
		}
		if said := updateStrategy(w); len(said) > 0 {
			t.Errorf("OVERRIDES=%q: %s", text, said)
		}
	}
}

// TestParametersAreInTheFile: azd takes a parameter that has a default from
// main.parameters.json alone, and passes over its own configuration
// (infra.parameters.NAME) without a word.
func TestParametersAreInTheFile(t *testing.T) {
	types, err := paramTypes(filepath.Join("..", "infra", "main.bicep"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Parameters map[string]any }
	if err := readJSON(filepath.Join("..", "infra", "main.parameters.json"), &file); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(file.Parameters)), slices.Sorted(maps.Keys(types)); !slices.Equal(got, want) {
		t.Errorf("main.parameters.json has %v, main.bicep %v", got, want)
	}
}

// TestStampsThatCantBe: what a stamp lacks stops its deployment.
func TestStampsThatCantBe(t *testing.T) {
	closed := stamped
	closed.vnet = true
	if _, err := load("..", closed); err == nil || !strings.Contains(err.Error(), "set VNET_ENABLED to false") {
		t.Errorf("a stamp in a network of its own: %v", err)
	}
}

// TestEveryScenarioDeploys is the least that must hold: the files evaluate.
func TestEveryScenarioDeploys(t *testing.T) {
	for _, s := range scenarios() {
		if _, err := load("..", s); err != nil {
			t.Fatalf("%v: %v", s, err)
		}
	}
}
