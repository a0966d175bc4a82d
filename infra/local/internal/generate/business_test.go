package generate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/shared/chosen"
)

// Ensure what Bicep reads is the business that the app runs. functions/ is held to
// the handler's table by its own test.
func TestBusinessFileIsOfTheChosenBusiness(t *testing.T) {
	want, err := Business(chosen.Business())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("../../../..", Path))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go run ./infra/local generate (-business +file):\n%s", diff)
	}
}
