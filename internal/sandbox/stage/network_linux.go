package stage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// connect brings the loopback of this namespace up, and hands the parent the socket where commands find the proxy.
func (r *Root) connect() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	defer unix.Close(s) // the parent has its own copy
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	request.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	if r.Proxy == 0 {
		return nil
	}
	err = unix.Bind(s, &unix.SockaddrInet4{Port: r.Port, Addr: [4]byte{127, 0, 0, 1}})
	if err == nil {
		err = unix.Listen(s, unix.SOMAXCONN)
	}
	if err == nil {
		err = unix.Sendmsg(r.Proxy, []byte{0}, unix.UnixRights(s), nil, 0)
	}
	if err != nil {
		return fmt.Errorf("open the way to the network: %w", err)
	}
	return nil
}
