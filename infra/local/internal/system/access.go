package system

import (
	"cmp"
	"crypto/rand"

	"github.com/fabrikam/drone-delivery/shared/settings"
)

// access is what the keys of a host open, by the app's AUTH_MODE, as in Azure.
type access struct {
	functions          bool // want a key
	hostKey, masterKey string
}

// access returns that of the instance's host. Without authentication nothing
// wants a key, as with func start. With tokens /admin does: it could put any
// caller's name into a message. With keys the functions do as well; the one that
// opens them is the one with which the workflow calls the backends.
func (i *Instance) access() access {
	master := cmp.Or(i.c.MasterKey, NewMasterKey())
	switch settings.AuthMode(i.env.get("AUTH_MODE")) {
	case settings.AuthEntra:
		return access{masterKey: master}
	case settings.AuthKeys:
		return access{functions: true, hostKey: i.env.get("BACKEND_KEY"), masterKey: master}
	default:
		return access{}
	}
}

// NewMasterKey returns a key that nobody can guess.
func NewMasterKey() string { return rand.Text() }
