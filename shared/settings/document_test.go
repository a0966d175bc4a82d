package settings

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/business"
	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// TestDocument holds docs/settings.md to the table. UPDATE=1 writes it.
func TestDocument(t *testing.T) {
	const path = "../../docs/settings.md"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(path, []byte(markdown(chosen.Business())), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(markdown(chosen.Business()), string(have)); diff != "" {
		t.Errorf("run UPDATE=1 go test ./shared/settings (-want +got):\n%s", diff)
	}
}

// markdown returns the text of docs/settings.md.
func markdown(of business.Business) string {
	var b strings.Builder
	b.WriteString(`# Settings

Environment variables alone configure the handler. In Azure they are the
app's settings, locally the values of ` + "`local.settings.json`" + `; the real environment
wins over both. At the start the handler reports everything that is wrong and
ends with exit code 1. Decimals are allowed where the table says "a number".

## Connections

A plain value is a connection string. Otherwise an address is used with an
identity: ` + "`__credential`" + ` is ` + "`managedidentity`" + ` or not set (the default chain of
credentials), ` + "`__clientId`" + ` names a user-assigned identity.

| variable | instead of it |
|---|---|
`)
	for _, k := range connectionKinds {
		fmt.Fprintf(&b, "| `%s` | `%s%s` such as `%s`, `%s__credential`, `%s__clientId` |\n",
			k.name, k.name, k.suffix, k.addressOf, k.name, k.name)
	}
	b.WriteString(`
Operations also reads the triggers' checkpoints in the host's storage, from where the host has it: ` + "`AzureWebJobsStorage`" + `, or
` + "`AzureWebJobsStorage__blobServiceUri`" + ` or ` + "`…__accountName`, with `…__credential` and `…__clientId`" + `.

A connection is read if a function that runs here needs it. The host, and
with it the handler, runs all functions but those NAME for which
` + "`" + fmt.Sprintf(disabledForms[0], "NAME") + "`" + ` is true. On a developer's machine a list does the same: with
` + "`" + functionsPrefix + "0`, `…1`" + ` and so on only the functions named there run.

| function | connections |
|---|---|
`)
	for _, name := range FunctionNames(of) {
		fmt.Fprintf(&b, "| %s | %s |\n", name, cmp.Or(strings.Join(functionsOf(of)[name], ", "), "none"))
	}
	b.WriteString(`
## Variables

| variable | default | allowed | what it is |
|---|---|---|---|
`)
	fmt.Fprintf(&b, "| `%s` | set by the host; then `%s` | a port from 1 to 65535 | where the handler listens |\n", ports[0], ports[1])
	for _, v := range Variables(of) {
		preset := "`" + v.Default + "`"
		switch {
		case v.isBackend():
			preset = "`/api` of `WEBSITE_HOSTNAME`"
		case v.Default == "":
			preset = "none"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", v.Name, preset, v.Allowed, v.Meaning)
	}
	b.WriteString("\n## Rules between them\n\nWith the defaults they read:\n\n")
	for _, rule := range presets(of).Rules(of) {
		fmt.Fprintf(&b, "- %s.\n", rule.Text)
	}
	return b.String()
}

// presets returns the defaults of all variables that have one.
func presets(b business.Business) (s Settings) {
	for _, v := range s.variables(b) {
		if v.Default != "" {
			if err := v.set(v.Default); err != nil {
				panic(fmt.Sprintf("the default of %s: %v", v.Name, err)) // the tests load every default
			}
		}
	}
	return s
}
