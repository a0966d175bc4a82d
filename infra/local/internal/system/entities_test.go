package system

import (
	"testing"

	"github.com/fabrikam/drone-delivery/shared/cosmosdb"
)

// Ensure that containers index what is queried, and nothing else, as those in
// Azure do (infra/database_test.go holds these to the same specification).
func TestContainersIndexWhatIsQueried(t *testing.T) {
	p := ContainerProperties(cosmosdb.ContainerSpec{Name: "c", PartitionKey: "/id", Indexed: []string{"state", "outbox.at"}})
	in, out := p.IndexingPolicy.IncludedPaths, p.IndexingPolicy.ExcludedPaths
	if len(in) != 2 || in[0].Path != "/state/?" || in[1].Path != "/outbox/at/?" || len(out) != 1 || out[0].Path != "/*" {
		t.Errorf("indexed are %v without %v", in, out)
	}
}
