package sandbox

import (
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

func dial(network, address string) error {
	c, err := (&net.Dialer{}).Dial(network, address)
	if err == nil {
		_ = c.Close()
	}
	return err
}

func port() int {
	_, text, _ := net.SplitHostPort(os.Getenv("TCP"))
	n, _ := strconv.Atoi(text) // the test sets it
	return n
}

func connectInet(protocol int) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	return unix.Connect(s, &unix.SockaddrInet4{Port: port(), Addr: [4]byte{127, 0, 0, 1}})
}

// udp cannot know whether it got through: an answer comes from the listener outside.
func udp() error {
	c, err := net.Dial("udp4", os.Getenv("UDP"))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("out")); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 8)) // refused at once without a listener
	return err
}

func socket(family, kind, protocol int) error {
	fd, err := unix.Socket(family, kind, protocol)
	if err == nil {
		_ = unix.Close(fd)
	}
	return err
}
