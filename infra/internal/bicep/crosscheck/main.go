// Command crosscheck compares how package bicep reads files with how another
// parser reads them: .ci/bicep/parse.mjs, whose output it takes on standard
// input. Otherwise nobody would notice a declaration that package bicep
// overlooks or misreads, since the tests judge only what it reads.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/google/go-cmp/cmp"

	"github.com/fabrikam/drone-delivery/infra/internal/bicep"
)

func main() {
	count, err := compare(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crosscheck:", err)
		os.Exit(1)
	}
	fmt.Printf("%d declarations are the same for both parsers\n", count)
}

// compare returns how many declarations there are. The error is the first
// difference, or that there is nothing to compare.
func compare(from io.Reader) (int, error) {
	var others []struct {
		File         string
		Declarations []bicep.Declaration
	}
	if err := json.NewDecoder(from).Decode(&others); err != nil {
		return 0, fmt.Errorf("read the other parser's declarations: %w", err)
	}
	count := 0
	for _, other := range others {
		text, err := os.ReadFile(other.File)
		if err != nil {
			return 0, fmt.Errorf("read what the other parser read: %w", err)
		}
		own, err := bicep.Declarations(other.File, string(text))
		if err != nil {
			return 0, err
		}
		if diff := cmp.Diff(other.Declarations, own); diff != "" {
			return 0, fmt.Errorf("%s: the parsers differ (-other +ours):\n%s", other.File, diff)
		}
		count += len(own)
	}
	if count == 0 {
		return 0, fmt.Errorf("the other parser read nothing")
	}
	return count, nil
}
