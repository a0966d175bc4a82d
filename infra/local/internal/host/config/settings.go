package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Settings are the app settings: names to values. Names are looked up without
// regard to case, as .NET configuration does; "__" and ":" are the same.
type Settings struct {
	values map[string]string // canonical name → value
	names  map[string]string // canonical name → name as given
}

func newSettings() Settings {
	return Settings{values: map[string]string{}, names: map[string]string{}}
}

func canonical(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "__", ":"))
}

// setDefault sets what isn't set already.
func (s Settings) setDefault(name, value string) {
	key := canonical(name)
	if _, set := s.values[key]; set {
		return
	}
	s.values[key], s.names[key] = value, name
}

// Lookup gives a setting's value.
func (s Settings) Lookup(name string) (string, bool) {
	v, ok := s.values[canonical(name)]
	return v, ok
}

// Environ gives the settings as the environment of a process, sorted.
func (s Settings) Environ() []string {
	env := make([]string, 0, len(s.values))
	for key, name := range s.names {
		env = append(env, name+"="+s.values[key])
	}
	slices.Sort(env)
	return env
}

// withPrefix gives the settings below a prefix such as
// "AzureFunctionsJobHost", by the path of the rest, sorted by name.
func (s Settings) withPrefix(prefix string) []override {
	var out []override
	for _, key := range slices.Sorted(maps.Keys(s.values)) {
		if strings.HasPrefix(key, canonical(prefix)+":") {
			name := strings.ReplaceAll(s.names[key], "__", ":")
			out = append(out, override{strings.Split(name, ":")[1:], s.values[key]})
		}
	}
	return out
}

// loadSettings joins, from strongest to weakest: own (the host's
// configuration), environ (NAME=value, the real environment) and the Values of
// local.settings.json.
func loadSettings(root string, own map[string]string, environ []string, p *Problems) Settings {
	s := newSettings()
	for _, name := range slices.Sorted(maps.Keys(own)) {
		s.setDefault(name, own[name])
	}
	for _, entry := range environ {
		// Windows has entries such as "=C:=C:\": not settings.
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			s.setDefault(name, value)
		}
	}
	local := readLocalSettings(root, p)
	for _, name := range slices.Sorted(maps.Keys(local)) {
		s.setDefault(name, local[name])
	}
	return s
}

const localSettingsFile = "local.settings.json"

// readLocalSettings reads the Values and ConnectionStrings of
// local.settings.json; a missing file is none. IsEncrypted is true when it is
// absent, as in Core Tools.
func readLocalSettings(root string, p *Problems) map[string]string {
	data, err := os.ReadFile(filepath.Join(root, localSettingsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.addf(localSettingsFile, "%v", err)
		return nil
	}
	var file struct {
		IsEncrypted       *bool
		Values            map[string]any
		ConnectionStrings map[string]any
	}
	if err := json.Unmarshal(data, &file); err != nil {
		p.addf(localSettingsFile, "not the expected JSON: %v", err)
		return nil
	}
	if file.IsEncrypted == nil || *file.IsEncrypted {
		p.addf(localSettingsFile, "IsEncrypted is true, which is also its default: set \"IsEncrypted\": false (encrypted values can't be read here)")
		return nil
	}
	out := map[string]string{}
	for name, value := range file.Values {
		switch v := value.(type) {
		case nil:
		case map[string]any, []any:
			p.addf(localSettingsFile, "Values.%s must be a string: Values is a flat map", name)
		case string:
			out[name] = v
		default:
			out[name] = fmt.Sprint(v)
		}
	}
	for name, value := range file.ConnectionStrings {
		if v, ok := value.(string); ok {
			out["ConnectionStrings:"+name] = v
		}
	}
	return out
}

var reference = regexp.MustCompile(`%([^%]+)%`)

// Resolve replaces each %NAME% with the setting NAME.
func (s Settings) Resolve(text string) (string, error) {
	var missing []string
	out := reference.ReplaceAllStringFunc(text, func(m string) string {
		v, ok := s.Lookup(m[1 : len(m)-1])
		if !ok {
			missing = append(missing, m)
		}
		return v
	})
	if len(missing) > 0 {
		return "", fmt.Errorf("%s does not resolve to a value: add the app setting", strings.Join(missing, ", "))
	}
	return out, nil
}

// expand replaces %NAME% in the handler's arguments; unknown ones are removed,
// as the host does.
func (s Settings) expand(text string) string {
	return reference.ReplaceAllStringFunc(text, func(m string) string {
		v, _ := s.Lookup(m[1 : len(m)-1])
		return v
	})
}
