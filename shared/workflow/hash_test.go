package workflow

import (
	"encoding/json"
	"fmt"
	"testing"
)

func TestHashTellsContentsApart(t *testing.T) {
	seen := map[string]string{}
	for _, c := range [][3]string{
		{"start", "id", "{}"}, {"cancel", "id", "{}"}, {"start", "id2", "{}"},
		{"start", "id", `{"a":1}`}, {"start", "i", "d{}"},
	} {
		h := Hash(OperationKind(c[0]), c[1], []byte(c[2]))
		if other, ok := seen[h]; ok {
			t.Errorf("%q has the hash of %q", c, other)
		}
		seen[h] = fmt.Sprint(c)
	}
}

// Ensure that what was stored under the operation's first name is known again.
func TestStartUnderItsFirstName(t *testing.T) {
	var kind OperationKind
	if err := json.Unmarshal([]byte(`"deliver"`), &kind); err != nil || kind != OperationStart {
		t.Errorf("read as %q, %v", kind, err)
	}
	if Hash(OperationStart, "id", nil) != Hash("deliver", "id", nil) {
		t.Error("it has another hash")
	}
}
