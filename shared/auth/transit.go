package auth

import (
	"net"
	"net/url"
)

// SafeAddress reports whether a URL is https, or http to this machine.
func SafeAddress(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host, without a port, is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
