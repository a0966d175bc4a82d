package config

import (
	"fmt"
	"strings"
)

// A Connection is what a trigger's "connection" resolves to: either a
// connection string or a namespace with an identity.
type Connection struct {
	Name   string // of the setting that gave it
	String string // connection string, a secret; "" for an identity

	FullyQualifiedNamespace string
	Credential              string // "managedidentity" or ""
	ClientID, TenantID      string
}

// connection resolves the name of a connection, trying it after each prefix in
// turn, as the extensions do. A plain value wins over the fields of an
// identity. Errors never show a value: what should be a name may be a secret.
func (s Settings) connection(name string, prefixes ...string) (Connection, error) {
	if name == "" {
		return Connection{}, fmt.Errorf("is empty; give the name of an app setting")
	}
	if strings.ContainsAny(name, ";=") {
		return Connection{}, fmt.Errorf("must be the name of an app setting, not the connection string itself")
	}
	for _, prefix := range prefixes {
		full := prefix + name
		for _, setting := range []string{full, "ConnectionStrings:" + full} {
			if v, ok := s.Lookup(setting); ok && v != "" {
				return Connection{Name: full, String: v}, nil
			}
		}
		if namespace, ok := s.Lookup(full + "__fullyQualifiedNamespace"); ok && namespace != "" {
			c := Connection{Name: full, FullyQualifiedNamespace: namespace}
			c.Credential, _ = s.Lookup(full + "__credential")
			c.ClientID, _ = s.Lookup(full + "__clientId")
			c.TenantID, _ = s.Lookup(full + "__tenantId")
			if c.Credential != "" && !strings.EqualFold(c.Credential, "managedidentity") {
				return c, fmt.Errorf("%s__credential must be managedidentity or absent", full)
			}
			return c, nil
		}
	}
	return Connection{}, fmt.Errorf("neither the app setting %s nor %s__fullyQualifiedNamespace is set", name, name)
}
