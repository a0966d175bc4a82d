package system

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// listen opens a loopback listener. flag is the flag of the command line that
// chooses another address.
func listen(address, flag string) (net.Listener, error) {
	if !strings.Contains(address, ":") { // a port alone
		address = net.JoinHostPort("127.0.0.1", address)
	}
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen %s: in use; free it or pass %s 0", address, flag)
	}
	if err != nil {
		return nil, fmt.Errorf("listen %s: %w; choose another with %s", address, err, flag)
	}
	return l, nil
}
