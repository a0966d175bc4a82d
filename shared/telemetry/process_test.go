package telemetry_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/telemetry"
)

// Ensure that a name tells instance and process, and that the SDKs cut nothing
// of it off.
func TestProcess(t *testing.T) {
	pid := strconv.Itoa(os.Getpid())
	t.Setenv("WEBSITE_INSTANCE_ID", "0123456789abcdef0123456789abcdef")
	got, want := telemetry.Process(), "0123456789ab."+pid
	if got != want || len("0123456789ab.4194304") > 24 { // the largest process id of Linux
		t.Errorf("%q, want %q", got, want)
	}
	t.Setenv("WEBSITE_INSTANCE_ID", "")
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	got = telemetry.Process()
	instance, ok := strings.CutSuffix(got, "."+pid)
	if !ok || !strings.HasPrefix(host, instance) || instance == "" && host != "" {
		t.Errorf("%q on the machine %q", got, host)
	}
}
