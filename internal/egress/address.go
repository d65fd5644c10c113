package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// ofThisMachine is why hosts are refused that a proxy with loopback lets through.
const ofThisMachine = "an address of this machine"

// RefusedError reports that a command may not connect to a host.
type RefusedError struct{ Host, Why string }

// OfThisMachine reports whether loopback would let the command connect.
func (e *RefusedError) OfThisMachine() bool { return e.Why == ofThisMachine }

// Error names the host and the reason.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("Divisi refuses %s: it is %s", e.Host, e.Why)
}

// refusedNetworks are never connected to: link-local addresses, where most metadata services are, the metadata services that are
// elsewhere (Alibaba, Oracle, Azure, Amazon, Google, Scaleway), multicast, and dead ways to write an IPv4 address in an IPv6 one.
var refusedNetworks = prefixes("169.254.0.0/16", "fe80::/10", "fec0::/10",
	"100.100.100.200/32", "192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128", "fd00:42::42/128",
	"224.0.0.0/4", "ff00::/8", "255.255.255.255/32",
	"::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")

// thisMachine are the addresses that every machine has; nat64 holds IPv4 addresses, where a network has no others.
var (
	thisMachine = prefixes("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128")
	nat64       = netip.MustParsePrefix("64:ff9b::/96")
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// refusal returns why nothing may connect to an address, or "". own are the addresses of this machine; loopback permits those.
func refusal(a netip.Addr, own []netip.Addr, loopback bool) string {
	a = unmapped(a)
	in := func(p netip.Prefix) bool { return p.Contains(a) }
	switch mine := slices.ContainsFunc(thisMachine, in) || slices.Contains(own, a); {
	case mine && !loopback:
		return ofThisMachine
	case !mine && slices.ContainsFunc(refusedNetworks, in):
		return "a link-local, metadata, multicast or outdated address"
	}
	return ""
}

// unmapped is the address that one of another notation leads to.
func unmapped(a netip.Addr) netip.Addr {
	if a = a.WithZone("").Unmap(); nat64.Contains(a) {
		whole := a.As16()
		a = netip.AddrFrom4([4]byte(whole[12:]))
	}
	return a
}

// ownAddresses are those that this machine has at this moment.
func ownAddresses() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of this machine: %w", err)
	}
	var own []netip.Addr
	for _, a := range list {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, p.Addr().Unmap())
		}
	}
	return own, nil
}
