package system

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/fabrikam/drone-delivery/infra/local/internal/door"
)

// inUseError is an address that another listener has.
type inUseError struct{ address, flag string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("listen %s: in use; free it or pass %s 0", e.address, e.flag)
}

func (e *inUseError) Unwrap() error { return syscall.EADDRINUSE }

// whole returns an address with its host: a port alone is one of this machine's.
func whole(address string) string {
	if !strings.Contains(address, ":") {
		return net.JoinHostPort("127.0.0.1", address)
	}
	return address
}

// checkLocal refuses an address that other machines reach, unless it is to be
// open. "" is none.
func checkLocal(address, flag string, open bool) error {
	if open || address == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(whole(address))
	if err != nil || door.IsLoopback(host) { // to listen tells what is wrong with an address
		return nil
	}
	return fmt.Errorf("%s %s: other machines reach this address, and the keys behind it are published: "+
		"use 127.0.0.1, or pass -open-to-network to let the network do anything here", flag, address)
}

// callable is how this machine's programs call a listener: one of all addresses
// by loopback.
func callable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// listen opens a listener: on loopback, or open to the network. flag is the flag
// of the command line that chooses another address.
func listen(address, flag string, open bool) (net.Listener, error) {
	if err := checkLocal(address, flag, open); err != nil {
		return nil, err
	}
	address = whole(address)
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &inUseError{address, flag}
	}
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w; choose another with %s", address, err, flag)
	}
	return l, nil
}
