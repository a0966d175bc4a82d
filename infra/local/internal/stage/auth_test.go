package stage

import (
	"strings"
	"testing"
)

func TestOpened(t *testing.T) {
	const timer = `{"bindings": [{"type": "timerTrigger", "name": "timer"}]}`
	for name, tc := range map[string]struct{ text, want string }{
		"wants a key":        {`{"bindings": [{"type": "httpTrigger", "authLevel" :  "function", "route": "function"}]}`, `{"bindings": [{"type": "httpTrigger", "authLevel" :  "anonymous", "route": "function"}]}`},
		"open already":       {`{"bindings":[{"type":"httpTrigger","authLevel":"anonymous"}]}`, `{"bindings":[{"type":"httpTrigger","authLevel":"anonymous"}]}`},
		"no HTTP":            {timer, timer},
		"the key is default": {`{"bindings":[{"type":"httpTrigger"}]}`, ""},
		"master key":         {`{"bindings":[{"type":"httpTrigger","authLevel":"admin"}]}`, ""},
		"no JSON":            {`{`, ""},
	} {
		got, err := opened([]byte(tc.text))
		if string(got) != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("%s: %s, %v; want %s", name, got, err, tc.want)
		}
	}
	if _, err := opened([]byte(`{"bindings":[{"type":"httpTrigger","authLevel":"admin"}]}`)); !strings.Contains(err.Error(), `authLevel "admin"`) {
		t.Errorf("got %v", err)
	}
}
