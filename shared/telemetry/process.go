package telemetry

import (
	"fmt"
	"os"
)

// maxInstance keeps the name of a process within the 24 characters that the
// Azure SDKs take of an application id (azcore, policy.TelemetryOptions).
const maxInstance = 12

// Process names this process to the services that it calls, as the application
// id of their clients: the first characters of the platform's id of the instance
// (WEBSITE_INSTANCE_ID; Microsoft Learn, "Environment variables and app settings
// in Azure App Service"), or of the machine's name, a dot, and the process id. So
// a service's own log tells which process has asked.
func Process() string {
	instance := os.Getenv("WEBSITE_INSTANCE_ID")
	if instance == "" {
		instance, _ = os.Hostname() // a machine without a name has none here
	}
	return fmt.Sprintf("%s.%d", instance[:min(maxInstance, len(instance))], os.Getpid())
}
