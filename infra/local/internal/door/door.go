// Package door keeps web pages away from listeners on a developer's machine. A
// browser there lets any page send requests to local ports, and a page's owner
// can point a name at 127.0.0.1 (DNS rebinding), which makes those ports the
// page's own origin. So a listener serves only requests that name it as its own
// clients do, and that no page of another origin sent.
package door

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
)

// Guard serves next to the programs of this machine. bound is the address that
// it is served at. Everything else is answered 403, with the reason, before next
// sees it:
//
//   - a Host that is neither "localhost", a loopback address nor the bound one.
//     Who listens on all addresses (-open-to-network) is also called by any other
//     address and by the machine's name: a rebound name is neither.
//   - an Origin that isn't the Host itself (RFC 6454; "null" is foreign, too).
//   - Sec-Fetch-Site other than same-origin and none (W3C Fetch Metadata), which
//     browsers send where there is no Origin.
//
// pages are paths that hold a page of the listener's own and nothing else: a link
// elsewhere, or the issuer at the end of a sign-in, may lead a browser's tab there, not a
// frame. Who has sent it there sees nothing of the answer.
func Guard(bound net.Addr, next http.Handler, pages ...string) http.Handler {
	names := namesOf(bound)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := names.refuse(r, pages); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// names are what a listener may be called besides loopback.
type names struct {
	bound   netip.Addr // of one network card; the zero value for none
	anyIP   bool       // bound to all addresses
	machine string     // only with anyIP
}

func namesOf(bound net.Addr) names {
	at, err := netip.ParseAddrPort(bound.String())
	if err != nil {
		return names{}
	}
	if at.Addr().Unmap().IsUnspecified() {
		machine, _ := os.Hostname() // without it, by addresses alone
		return names{anyIP: true, machine: machine}
	}
	return names{bound: at.Addr().Unmap()}
}

// refuse says why a request is not served, "" if it is.
func (n names) refuse(r *http.Request, pages []string) string {
	if !n.own(hostOf(r.Host)) {
		return fmt.Sprintf("Host %q is not served here: use localhost, 127.0.0.1 or the address that was bound", r.Host)
	}
	if values, sent := r.Header["Origin"]; sent && (len(values) != 1 || !sameOrigin(values[0], r.Host)) {
		return fmt.Sprintf("a page of origin %q may not call this: it is for programs of this machine", strings.Join(values, ", "))
	}
	opened := r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !(opened && slices.Contains(pages, r.URL.Path)) {
		return fmt.Sprintf("a page of another origin (Sec-Fetch-Site %q) may not call this: it is for programs of this machine", site)
	}
	return ""
}

func (n names) own(host string) bool {
	if IsLoopback(host) {
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return n.anyIP || ip.Unmap() == n.bound
	}
	return n.machine != "" && strings.EqualFold(host, n.machine)
}

// IsLoopback reports whether a host of a URL or an address is this machine and
// can be no other: "localhost" or a loopback address.
func IsLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// hostOf takes the port and the brackets off a Host.
func hostOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameOrigin reports whether an Origin is that of the listener's own pages. All
// listeners speak plain HTTP.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, host)
}
