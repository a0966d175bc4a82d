package stage

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// functionLevel is the authLevel of a function that wants a key, as it is
// written in function.json.
var functionLevel = regexp.MustCompile(`("authLevel"\s*:\s*)"function"`)

// opened returns a function.json whose HTTP trigger wants no key: a caller with a
// token has none (Microsoft Learn, "Azure Functions HTTP trigger", authLevel).
// Nothing else of the text changes.
func opened(content []byte) ([]byte, error) {
	content = functionLevel.ReplaceAll(content, []byte(`${1}"anonymous"`))
	var function struct {
		Bindings []struct{ Type, AuthLevel string }
	}
	if err := json.Unmarshal(content, &function); err != nil {
		return nil, err
	}
	for _, b := range function.Bindings {
		if strings.EqualFold(b.Type, "httpTrigger") && !strings.EqualFold(b.AuthLevel, "anonymous") {
			return nil, fmt.Errorf("authLevel %q of an httpTrigger: with tokens use function, written out, or anonymous", b.AuthLevel)
		}
	}
	return content, nil
}
