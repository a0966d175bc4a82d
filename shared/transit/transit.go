// Package transit says which addresses are safe from those on the way: what goes
// there, such as a token, is read by nobody else, and what comes from there is
// changed by nobody else.
package transit

import (
	"net"
	"net/url"
)

// Safe reports whether a URL is https, or http to this machine.
func Safe(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host, without a port, is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
