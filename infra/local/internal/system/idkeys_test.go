package system

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

// Ensure that the keys of ids are made once for a folder, that nobody else reads
// them, and that without a folder they are new each time.
func TestIDKeysAreKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "data")
	var first string
	for range 2 {
		d, err := openData(folder, nil)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := d.idKeys()
		if err != nil {
			t.Fatal(err)
		}
		if parsed, err := shard.ParseIDKeys(keys); err != nil || len(parsed) != 1 || first != "" && keys != first {
			t.Errorf("%v, %v; the same as before: %t", parsed, err, keys == first)
		}
		first = keys
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(folder, idKeysFile)
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := openData(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.idKeys(); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "nonsense") {
		t.Errorf("of a damaged file: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var made []string
	for range 2 {
		d, err := openData("", nil)
		if err != nil {
			t.Fatal(err)
		}
		keys, err := d.idKeys()
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, keys)
	}
	if made[0] == made[1] || made[0] == first {
		t.Error("the same keys without a folder")
	}
}
