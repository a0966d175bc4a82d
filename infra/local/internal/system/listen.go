package system

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// inUseError is an address that another listener has.
type inUseError struct{ address, flag string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("listen %s: in use; free it or pass %s 0", e.address, e.flag)
}

func (e *inUseError) Unwrap() error { return syscall.EADDRINUSE }

// listen opens a loopback listener. flag is the flag of the command line that
// chooses another address.
func listen(address, flag string) (net.Listener, error) {
	if !strings.Contains(address, ":") { // a port alone
		address = net.JoinHostPort("127.0.0.1", address)
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, &inUseError{address, flag}
	}
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w; choose another with %s", address, err, flag)
	}
	return l, nil
}
