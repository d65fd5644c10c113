package egress

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strconv"
)

// The parts of SOCKS5 (RFC 1928) that are served: connections, by name or address, without a login.
const (
	socksVersion = 5
	socksConnect = 1
	socksIPv4    = 1
	socksName    = 3
	socksIPv6    = 4

	socksFailed  = 1
	socksRefused = 2
	socksUnknown = 7
)

func (p *Proxy) socks(ctx context.Context, here *peeked, accepted func() error) error {
	host, port, err := readSocks(here)
	if err != nil {
		return err
	}
	if err := accepted(); err != nil {
		return err
	}
	scheme := "https"
	if port == "80" {
		scheme = "http"
	}
	there, err := p.connect(ctx, scheme, host, port)
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return replySocks(here, socksRefused)
	} else if err != nil {
		return replySocks(here, socksFailed)
	}
	err = replySocks(here, 0)
	tunnel(ctx, here, there)
	return err
}

func replySocks(w io.Writer, reply byte) error {
	_, err := w.Write([]byte{socksVersion, reply, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err
}

// readSocks reads a greeting, which it answers, and a request.
func readSocks(conn io.ReadWriter) (host, port string, err error) {
	read := func(n byte) []byte {
		b := make([]byte, n)
		if err == nil {
			_, err = io.ReadFull(conn, b)
		}
		return b
	}
	read(read(2)[1]) // the logins that the command knows: any program knows none
	if err == nil {
		_, err = conn.Write([]byte{socksVersion, 0})
	}
	switch head := read(4); {
	case err != nil:
	case head[1] != socksConnect:
		return "", "", errors.Join(errors.New("SOCKS5: only connections are served"), replySocks(conn, socksUnknown))
	case head[3] == socksName:
		host = string(read(read(1)[0]))
	case head[3] == socksIPv4:
		host = netip.AddrFrom4([4]byte(read(4))).String()
	case head[3] == socksIPv6:
		host = netip.AddrFrom16([16]byte(read(16))).String()
	default:
		return "", "", errors.New("SOCKS5: unknown kind of address")
	}
	return host, strconv.Itoa(int(binary.BigEndian.Uint16(read(2)))), err
}
