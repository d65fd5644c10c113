package egress

import (
	"net/netip"
	"slices"
	"strings"
)

const (
	// notNamed and isPrivate are why hosts are refused that a Reach leaves out.
	notNamed  = "not among the hosts that the owner of this machine lets commands reach"
	isPrivate = "a private address, in no range that the owner of this machine lets commands reach"
	notOfRole = "not among the hosts that the role of this command names"
)

// AnyHost stands for all hosts with public addresses, Localhost for the addresses of this machine.
const (
	AnyHost   = "*"
	Localhost = "localhost"
)

// privateNetworks are those of an organization, of a carrier, and of a home (RFC 1918, 6598, 4193).
var privateNetworks = prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")

// Reach are the hosts that the owner of a machine lets commands reach: names, names with *. in front for all below them, AnyHost,
// addresses, ranges, and Localhost. Nil is no limit, and a list that is empty lets them reach nothing. A private address is
// reached only by its address or range.
type Reach []string

// refuses returns why none of the addresses of a host may be connected to, or "". A host that is an address is its only one.
func (r Reach) refuses(host string, addrs []netip.Addr) string {
	if r == nil {
		return ""
	}
	named := r.names(host)
	for _, a := range addrs {
		a = unmapped(a)
		inPrivate := slices.ContainsFunc(privateNetworks, func(p netip.Prefix) bool { return p.Contains(a) })
		switch {
		case r.leadsTo(a):
		case !named:
			return notNamed
		case inPrivate:
			return isPrivate
		}
	}
	if !named && len(addrs) == 0 {
		return notNamed
	}
	return ""
}

// names reports whether a host is named, by itself or by what stands for many.
func (r Reach) names(host string) bool {
	return slices.Contains(r, AnyHost) || r.knows(host)
}

// knows reports whether a name is there, alone or as one of many, but not as any host.
func (r Reach) knows(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return slices.ContainsFunc(r, func(entry string) bool {
		entry = strings.ToLower(entry)
		below, many := strings.CutPrefix(entry, "*")
		return entry == host || many && below != "" && strings.HasSuffix(host, below)
	})
}

// mayKnow reports whether a name that does not resolve here can be meant.
func (r Reach) mayKnow(host string) bool { return r == nil || r.knows(host) }

// ranges reports whether there is a range: then the addresses of any name can be in it.
func (r Reach) ranges() bool {
	return slices.ContainsFunc(r, func(entry string) bool { return strings.Contains(entry, "/") })
}

// leadsTo reports whether an address is named, by itself, by a range, or as one of this machine.
func (r Reach) leadsTo(a netip.Addr) bool {
	return r.holds(a) || slices.Contains(r, Localhost) && a.IsLoopback()
}

// holds reports whether an address is named, by itself or by a range.
func (r Reach) holds(a netip.Addr) bool {
	return slices.ContainsFunc(r, func(entry string) bool {
		if p, err := netip.ParsePrefix(entry); err == nil {
			return p.Contains(a)
		}
		named, err := netip.ParseAddr(entry)
		return err == nil && named == a
	})
}

// Names reports whether a host is listed by its name, address or range, and not only as any host. Divisi connects to it itself,
// and no proxy checks where its name leads.
func (r Reach) Names(host string) bool {
	a, err := netip.ParseAddr(host)
	if err != nil {
		return r.knows(host) && (!ownNames.MatchString(host) || host == Localhost)
	}
	a = unmapped(a)
	return refusal(a, nil, true) == "" && r.leadsTo(a)
}
