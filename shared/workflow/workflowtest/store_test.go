package workflowtest_test

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/workflow"
	"github.com/fabrikam/drone-delivery/shared/workflow/workflowtest"
)

// Ensure the double passes what it stands in for.
func TestStore(t *testing.T) {
	workflowtest.StoreSuite(t, func(*testing.T) workflow.Store { return workflowtest.NewStore(nil) })
}
