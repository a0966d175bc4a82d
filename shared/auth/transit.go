package auth

import (
	"net"
	"net/http"
	"net/url"
	"time"
)

// NewClient returns a client for requests with a secret or a promise in them. It
// follows no redirect: who is meant is at the address that was given, or nowhere. A
// connection must come about within timeout. The client keeps idle connections to each
// host, as many as there can be calls: with the two of the default transport, most
// calls would dial.
func NewClient(timeout time.Duration, idle int) *http.Client {
	dialer := net.Dialer{Timeout: timeout, KeepAlive: 30 * time.Second}
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                  http.ProxyFromEnvironment,
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    timeout,
			MaxIdleConnsPerHost:    idle,
			IdleConnTimeout:        60 * time.Second,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// SafeAddress reports whether a URL is https, or http to this machine.
func SafeAddress(u *url.URL) bool {
	return u.Scheme == "https" || u.Scheme == "http" && Loopback(u.Hostname())
}

// Loopback reports whether a host, without a port, is this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
