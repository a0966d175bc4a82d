package config

import (
	"strconv"
	"strings"
)

// An override is an app setting AzureFunctionsJobHost__a__b: it sets the value
// at a path of host.json.
type override struct {
	path  []string
	value string
}

// apply sets the overrides in a host.json tree.
func apply(tree map[string]any, overrides []override) {
	for _, o := range overrides {
		set(tree, o.path, o.value)
	}
}

func set(tree map[string]any, path []string, value string) {
	key := path[0]
	for k := range tree {
		if strings.EqualFold(k, key) {
			key = k
		}
	}
	if len(path) == 1 {
		tree[key] = value
		return
	}
	var child map[string]any
	switch existing := tree[key].(type) {
	case map[string]any:
		child = existing
	case []any:
		child = make(map[string]any, len(existing))
		for i, e := range existing {
			child[strconv.Itoa(i)] = e
		}
	default:
		child = map[string]any{}
	}
	tree[key] = child
	set(child, path[1:], value)
}
