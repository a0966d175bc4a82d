package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.bicep")
	if err := os.WriteFile(path, []byte("param a string\nvar b = a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	one := func(declarations string) string {
		return fmt.Sprintf(`[{"file":%q,"declarations":[%s]}]`, path, declarations)
	}
	for from, want := range map[string]string{
		one(`{"kind":"param","name":"a","type":"string"},{"kind":"var","name":"b"}`): "2 <nil>",
		one(`{"kind":"param","name":"a","type":"string"}`):                           "the parsers differ",
		one(`{"kind":"param","name":"a","type":"int"},{"kind":"var","name":"b"}`):    "the parsers differ",
		`[]`: "read nothing",
		`[{"file":"none.bicep","declarations":[]}]`: "none.bicep",
		`x`: "read the other parser's declarations",
	} {
		count, err := compare(strings.NewReader(from))
		if got := fmt.Sprintf("%d %v", count, err); !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", from, got, want)
		}
	}
}
