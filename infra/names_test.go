package infra_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ofThePast are documents that name what was there when they were written.
var ofThePast = regexp.MustCompile(`^\.\./(?:CHANGELOG\.md|docs/adr/|docs/evidence/)`)

// TestNamesInDocuments holds the tests, files and folders that the documents name to
// what is there.
func TestNamesInDocuments(t *testing.T) {
	tests := map[string]bool{}
	var documents []string
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != ".." && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			text, err := os.ReadFile(path)
			for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
				tests[m[1]] = true
			}
			return err
		case filepath.Ext(path) == ".md" && !ofThePast.MatchString(filepath.ToSlash(path)):
			documents = append(documents, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	test := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w+`)
	file := regexp.MustCompile("`((?:shared|handlers|infra|docs|functions|\\.ci)/[\\w./-]*)`")
	checked := 0
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range test.FindAllString(string(text), -1) {
			if checked++; !tests[name] {
				t.Errorf("%s: there is no %s", document, name)
			}
		}
		for _, m := range file.FindAllStringSubmatch(string(text), -1) {
			if strings.HasPrefix(m[1], "shared/rooms") { // docs/adopt.md has the reader make it
				continue
			}
			checked++
			if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
				t.Errorf("%s: %s is not there", document, m[1])
			}
		}
	}
	if checked < 100 {
		t.Errorf("only %d names found", checked)
	}
}
