package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// dialTime bounds one try to connect; a name can have several addresses.
const dialTime = 15 * time.Second

// Proxy connects to what it does not refuse, through the user's own proxy where there is one.
type Proxy struct {
	loopback bool
	hosts    Reach
	// named are the hosts that the role of the command names; nil for all.
	named Reach
	// itself answers requests to the proxy, and not through it.
	itself Own
	// users returns the user's proxy for an address, nil for none.
	users   func(*url.URL) (*url.URL, error)
	resolve func(ctx context.Context, network, host string) ([]netip.Addr, error)
	own     func() ([]netip.Addr, error)
	dial    func(ctx context.Context, network, address string) (net.Conn, error)

	mu      sync.Mutex
	refused []*RefusedError
	use     Use
}

// Use is a command's use of the network. Asked reports whether it asked for a connection that was not refused, Away whether one
// of those failed, or led to a service that is out of order.
type Use struct{ Asked, Away bool }

// Use returns the use of the network so far.
func (p *Proxy) Use() Use {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.use
}

// asked notes how it went to connect to a host. A name that is not known is more often wrong than away.
func (p *Proxy) asked(err error) {
	if _, refused := errors.AsType[*RefusedError](err); refused {
		return
	}
	name, unresolved := errors.AsType[*net.DNSError](err)
	unknown := unresolved && name.IsNotFound
	p.mu.Lock()
	defer p.mu.Unlock()
	p.use.Asked = true
	p.use.Away = p.use.Away || err != nil && !unknown
}

// New makes a proxy to the hosts that are both in the reach of the machine's owner and among those that a role names. loopback
// lets commands reach the addresses of this machine. The user's proxies are those of this process's environment. itself may be
// empty.
func New(reach, named Reach, loopback bool, itself Own) *Proxy {
	c, all := httpproxy.FromEnvironment(), cmp.Or(os.Getenv("ALL_PROXY"), os.Getenv("all_proxy"))
	c.HTTPProxy, c.HTTPSProxy = cmp.Or(c.HTTPProxy, all), cmp.Or(c.HTTPSProxy, all)
	return &Proxy{
		itself: itself, loopback: loopback && (reach == nil || slices.Contains(reach, Localhost)), hosts: reach, named: named,
		users: c.ProxyFunc(), own: ownAddresses, resolve: net.DefaultResolver.LookupNetIP,
		dial: (&net.Dialer{Timeout: dialTime}).DialContext,
	}
}

// Refused lists the hosts that were refused, at most ten.
func (p *Proxy) Refused() []*RefusedError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.refused)
}

// maxHost bounds the name of a refused host, in bytes: a command can ask for a longer one than any host has.
const maxHost = 255

func (p *Proxy) refuse(host, why string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	refused := &RefusedError{text.Clip(host, maxHost), why}
	if len(p.refused) < 10 && !slices.ContainsFunc(p.refused, func(had *RefusedError) bool { return *had == *refused }) {
		p.refused = append(p.refused, refused)
	}
	return refused
}

// plainName returns the form of a name that every program reads alike: what is checked here is what the user's proxy connects to.
// Other letters are mapped to these (a full-width 1 to 1), and a space, a slash, an @ or a zero byte ends the name for some
// programs.
var plainName = lazyregexp.New(`^[A-Za-z0-9_.-]+$`)

// check resolves a host; none of the addresses that it returns is refused.
func (p *Proxy) check(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	a, err := netip.ParseAddr(host)
	addrs := []netip.Addr{a}
	if err != nil && !plainName.MatchString(host) {
		return nil, p.refuse(host, "neither an address nor a name of ASCII letters, digits, -, _ and .")
	}
	if err != nil {
		if why := p.leavesOut(host, nil); why != "" && !p.hosts.ranges() && !p.named.ranges() {
			return nil, p.refuse(host, why) // no name is looked up that tells something to who serves it
		}
		if addrs, err = p.resolve(ctx, "ip", host); err != nil {
			return nil, fmt.Errorf("resolve %s: %w", host, err)
		}
	}
	own, err := p.own()
	if err != nil {
		return nil, err
	}
	if why := p.leavesOut(host, addrs); why != "" {
		return nil, p.refuse(host, why)
	}
	for _, a := range addrs {
		if why := refusal(a, own, p.loopback); why != "" {
			return nil, p.refuse(host, why)
		}
	}
	return addrs, nil
}

// leavesOut returns why a host is not in the reach of the owner, or not among those that the role names, or "".
func (p *Proxy) leavesOut(host string, addrs []netip.Addr) string {
	if why := p.hosts.refuses(host, addrs); why != "" {
		return why
	}
	if p.named == nil || p.named.names(host) || len(addrs) > 0 && !slices.ContainsFunc(addrs, func(a netip.Addr) bool {
		return !p.named.leadsTo(unmapped(a))
	}) {
		return ""
	}
	return notOfRole
}

// mayForward checks a host that the user's proxy resolves. That proxy may know names that this machine does not.
func (p *Proxy) mayForward(ctx context.Context, host string) error {
	_, err := p.check(ctx, host)
	may := !leadsBack(host) && p.hosts.mayKnow(host) && p.named.mayKnow(host)
	if _, unknown := errors.AsType[*net.DNSError](err); unknown && may {
		return nil
	}
	return err
}

// ownNames are names of the own machine, and of the metadata services of clouds.
var ownNames = lazyregexp.New(`(^|\.)(localhost|localdomain)[46]?$|^ip6-(localhost|loopback)$` +
	`|^metadata(\.google\.internal|\.goog)?$|^instance-data(\.ec2\.internal)?$`)

// leadsBack reports whether a name that does not resolve here can be one of the machine of the user's proxy, as an address in an
// old notation can.
func leadsBack(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	return last == "" || last[0] >= '0' && last[0] <= '9' || ownNames.MatchString(host)
}

// connect connects to an address that a command asked for.
func (p *Proxy) connect(ctx context.Context, scheme, host, port string) (conn net.Conn, err error) {
	defer func() { p.asked(err) }()
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return nil, p.refuse(host, "followed by no port")
	}
	address := net.JoinHostPort(host, port)
	via, err := p.users(&url.URL{Scheme: scheme, Host: address})
	if err != nil {
		return nil, fmt.Errorf("read the address of your proxy: %w", err)
	}
	if via == nil {
		return p.connectDirectly(ctx, host, port)
	}
	if err := p.mayForward(ctx, host); err != nil {
		return nil, err
	}
	return p.connectThrough(ctx, via, address)
}

// connectDirectly connects to an address that was checked: it looks no name up a second time.
func (p *Proxy) connectDirectly(ctx context.Context, host, port string) (net.Conn, error) {
	addrs, err := p.check(ctx, host)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, a := range addrs {
		conn, err := p.dial(ctx, "tcp", net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
