package record_test

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/failure"
	"github.com/fabrikam/drone-delivery/shared/record"
)

func TestPageRefusesWhatIsNoFieldName(t *testing.T) {
	s := record.Over[struct{}](nil)
	for _, field := range []string{"", "a b", `a"] = 1 OR c["b`, "1a", "a.b"} {
		if _, _, err := s.Page(t.Context(), field, "v", ""); !failure.Is(err, failure.Invalid) {
			t.Errorf("field %q: got %v, want invalid", field, err)
		}
	}
}
