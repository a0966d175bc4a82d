package config

import (
	"bytes"
	"cmp"
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

// Sources are where the app settings come from, the strongest first.
type Sources struct {
	Own     map[string]string // the host's own configuration
	Environ []string          // NAME=value, the real environment
	// File is a local settings file. "" is local.settings.json of the script
	// root, which need not be there.
	File string
}

// loadSettings joins the sources.
func loadSettings(root string, from Sources, p *Problems) Settings {
	s := newSettings()
	for _, name := range slices.Sorted(maps.Keys(from.Own)) {
		s.setDefault(name, from.Own[name])
	}
	for _, entry := range from.Environ {
		// Windows has entries such as "=C:=C:\": not settings.
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			s.setDefault(name, value)
		}
	}
	local := readLocalSettings(root, from.File, p)
	for _, name := range slices.Sorted(maps.Keys(local)) {
		s.setDefault(name, local[name])
	}
	return s
}

const localSettingsFile = "local.settings.json"

// ReadLocalSettings reads the app settings of a local settings file: its Values,
// and its ConnectionStrings as "ConnectionStrings:<name>". With file "" that is
// local.settings.json of the folder root, and none when it isn't there. The
// error is Problems.
func ReadLocalSettings(root, file string) (map[string]string, error) {
	var p Problems
	if values := readLocalSettings(root, file, &p); len(p) == 0 {
		return values, nil
	}
	slices.Sort(p)
	return nil, p
}

// readLocalSettings is ReadLocalSettings. IsEncrypted is true when it is absent,
// as in Core Tools.
func readLocalSettings(root, file string, p *Problems) map[string]string {
	path := cmp.Or(file, filepath.Join(root, localSettingsFile))
	data, err := os.ReadFile(path)
	if file == "" && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		p.addf(path, "the file with the app settings can't be read: %v", errors.Unwrap(err))
		return nil
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // the mark with which some editors begin a file
	var content struct {
		IsEncrypted       *bool
		Values            map[string]any
		ConnectionStrings map[string]any
	}
	if err := json.Unmarshal(data, &content); err != nil {
		p.addf(path, "not the expected JSON: %v", withLine(data, err))
		return nil
	}
	if content.IsEncrypted == nil || *content.IsEncrypted {
		p.addf(path, "IsEncrypted is true, which is also its default: set \"IsEncrypted\": false (encrypted values can't be read here)")
		return nil
	}
	out := map[string]string{}
	for name, value := range content.Values {
		switch v := value.(type) {
		case nil:
		case map[string]any, []any:
			p.addf(path, "Values.%s must be a string: Values is a flat map", name)
		case string:
			out[name] = v
		default:
			out[name] = fmt.Sprint(v)
		}
	}
	for name, value := range content.ConnectionStrings {
		if v, ok := value.(string); ok {
			out["ConnectionStrings:"+name] = v
		}
	}
	return out
}

// withLine adds the line to an error of package json.
func withLine(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	var offset int64
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		offset = mismatch.Offset
	default:
		return err
	}
	return fmt.Errorf("line %d: %w", 1+bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n")), err)
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
