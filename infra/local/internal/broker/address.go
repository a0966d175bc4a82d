package broker

import (
	"net/url"
	"strings"

	"github.com/fabrikam/drone-delivery/infra/local/internal/queue"
)

// The fixed segments of addresses, in lower case.
const (
	segDeadLetter = "$deadletterqueue"
	segManagement = "$management"
	segGroups     = "consumergroups"
	segPartitions = "partitions"
)

// path gives the segments of an address or an audience in lower case, without
// scheme and host.
func path(address string) []string {
	if _, rest, ok := strings.Cut(address, "://"); ok {
		_, address, _ = strings.Cut(rest, "/")
	}
	address = strings.ToLower(strings.Trim(address, "/"))
	if address == "" {
		return nil
	}
	return strings.Split(address, "/")
}

// hostPath is an address without scheme, port and query, in lower case, for
// comparing the resource of a signature with an audience.
func hostPath(resource string) string {
	resource, _, _ = strings.Cut(resource, "?")
	if _, rest, ok := strings.Cut(resource, "://"); ok {
		resource = rest
	}
	host, path, _ := strings.Cut(resource, "/")
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host = host[:i]
	}
	return strings.ToLower(strings.Trim(host+"/"+path, "/"))
}

// covers reports whether the resource is the audience or above it.
func covers(resource, audience string) bool {
	r, a := hostPath(resource), hostPath(audience)
	return r == a || strings.HasPrefix(a, r+"/")
}

// queueAt finds the queue and sub-queue that the segments name.
func (b *Broker) queueAt(segs []string) (*queueNode, queue.Sub, bool) {
	if len(segs) == 0 || len(segs) > 2 {
		return nil, 0, false
	}
	q, ok := b.queues[segs[0]]
	switch {
	case !ok:
		return nil, 0, false
	case len(segs) == 1:
		return q, queue.Main, true
	case segs[1] == segDeadLetter:
		return q, queue.DeadLetter, true
	default:
		return nil, 0, false
	}
}

// known reports whether segments, without a $management at the end, name
// something that is served.
func (b *Broker) known(segs []string) bool {
	if _, _, ok := b.queueAt(segs); ok {
		return true
	}
	if len(segs) == 0 {
		return false
	}
	h, ok := b.hub(segs[0])
	if !ok {
		return false
	}
	rest := segs[1:]
	if len(rest) >= 2 && rest[0] == segGroups {
		if _, ok := h.groups[rest[1]]; !ok {
			return false
		}
		rest = rest[2:]
	}
	// A partition that doesn't exist is told when a link is attached.
	return len(rest) == 0 || len(rest) == 2 && rest[0] == segPartitions
}

// target splits a request address from its $management.
func target(segs []string) (entity []string, management bool) {
	if n := len(segs); n > 0 && segs[n-1] == segManagement {
		return segs[:n-1], true
	}
	return segs, false
}

// unescape undoes URL encoding; a value that is not encoded stays.
func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}
