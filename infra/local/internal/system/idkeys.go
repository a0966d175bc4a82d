package system

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fabrikam/drone-delivery/shared/shard"
)

// idKeysSetting is the setting with the keys of the ids that the app gives out.
const idKeysSetting = "ID_KEYS"

// idKeysFile has a key that was made here, beside the state: ids that were given
// out before a restart are known after it.
const idKeysFile = "id.keys"

// idKeys returns the keys of ids of a system whose settings have none. They are
// made at the first start, and kept where the state is.
func (d *data) idKeys() (string, error) {
	if d.disk == nil {
		return newIDKeys()
	}
	path := filepath.Join(d.folder, idKeysFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return d.makeIDKeys(path)
	}
	if err != nil {
		return "", fmt.Errorf("read the keys of ids: %w", err)
	}
	keys := strings.TrimSpace(string(text))
	if parsed, err := shard.ParseIDKeys(keys); err != nil || len(parsed) == 0 {
		return "", fmt.Errorf("%s: the keys of ids %w; remove the file, at the price of ids not stored yet", path, shard.ErrIDKeys)
	}
	return keys, nil
}

// makeIDKeys writes keys that are there whole, or not at all.
func (d *data) makeIDKeys(path string) (string, error) {
	keys, err := newIDKeys()
	if err != nil {
		return "", err
	}
	next, err := os.CreateTemp(d.folder, idKeysFile+".*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("keep the keys of ids: %w", err)
	}
	_, err = next.WriteString(keys + "\n")
	if err == nil {
		err = next.Sync()
	}
	if err := errors.Join(err, next.Close()); err != nil {
		return "", fmt.Errorf("keep the keys of ids: %w", errors.Join(err, os.Remove(next.Name())))
	}
	if err := os.Rename(next.Name(), path); err != nil {
		return "", fmt.Errorf("keep the keys of ids: %w", err)
	}
	return keys, nil
}

func newIDKeys() (string, error) {
	key, err := shard.NewIDKey(1, rand.Reader)
	if err != nil {
		return "", err
	}
	return key.Reveal(), nil
}
