package workflow

import (
	"fmt"
	"testing"
)

func TestHashTellsContentsApart(t *testing.T) {
	seen := map[string]string{}
	for _, c := range [][3]string{
		{"deliver", "id", "{}"}, {"cancel", "id", "{}"}, {"deliver", "id2", "{}"},
		{"deliver", "id", `{"a":1}`}, {"deliver", "i", "d{}"},
	} {
		h := Hash(OperationKind(c[0]), c[1], []byte(c[2]))
		if other, ok := seen[h]; ok {
			t.Errorf("%q has the hash of %q", c, other)
		}
		seen[h] = fmt.Sprint(c)
	}
}
